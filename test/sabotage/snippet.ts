/** A part of a text, from its first character up to the one after its last. */
export interface Place {
  from: number;
  to: number;
}

/**
 * Where a snippet of code stands in a source, however either is broken into lines: white space and trailing commas,
 * which a formatter adds and removes, do not count.
 */
export function snippetPlaces(text: string, snippet: string): Place[] {
  const { bare, positions } = withoutLayout(text);
  const wanted = withoutLayout(snippet).bare;
  const places: Place[] = [];
  for (let at = bare.indexOf(wanted); at >= 0; at = bare.indexOf(wanted, at + 1)) {
    places.push({ from: positions[at] ?? 0, to: (positions[at + wanted.length - 1] ?? 0) + 1 });
  }
  return places;
}

function withoutLayout(text: string): { bare: string; positions: number[] } {
  const positions: number[] = [];
  let bare = '';
  for (const { 0: piece, index } of text.matchAll(/\S/g)) {
    if (/[)\]}]/.test(piece) && bare.endsWith(',')) {
      bare = bare.slice(0, -1);
      positions.pop();
    }
    bare += piece;
    positions.push(index);
  }
  return { bare, positions };
}
