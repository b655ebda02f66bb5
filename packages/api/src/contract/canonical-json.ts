/** Compares by code units, so the order does not depend on the locale. */
function compareCodeUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * Equal JSON text for equal values: keys sorted by code units, `undefined` fields left out. Arrays keep their order.
 * @param value plain JSON values
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([left], [right]) => compareCodeUnits(left, right))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}

/** The distinct elements, sorted by the text that `textOf` returns. */
export function sortedSet<Element>(elements: readonly Element[], textOf: (element: Element) => string): Element[] {
  const byText = new Map(elements.map((element) => [textOf(element), element]));
  return [...byText].sort(([left], [right]) => compareCodeUnits(left, right)).map(([, element]) => element);
}
