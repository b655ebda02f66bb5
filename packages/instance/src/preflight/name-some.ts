/** Names repeated in one error description; the rest is counted. */
const NAMED_MAX = 5;

/** The first few of many names, and how many more there are. */
export function nameSome(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX).join(', ');
  return names.length > NAMED_MAX ? `${shown} and ${names.length - NAMED_MAX} more` : shown;
}
