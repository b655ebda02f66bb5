/** Names in one error description; the rest is only counted. */
const NAMED_MAX = 5;

/** The first few of many names, and how many more there are. */
export function nameSome(names: readonly string[], namedMax = NAMED_MAX): string {
  const shown = names.slice(0, namedMax).join(', ');
  return names.length > namedMax ? `${shown} and ${names.length - namedMax} more` : shown;
}

/** With the text around them they fill a line or two. */
const charactersMax = 100;

/** As many of the first few names as a finding of a line or two has room for, and how many more there are. */
export function nameFew(names: readonly string[]): string {
  let count = Math.min(names.length, NAMED_MAX);
  while (count > 1 && names.slice(0, count).join(', ').length > charactersMax) count -= 1;
  return nameSome(names, count);
}
