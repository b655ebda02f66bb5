/** Names in one error description; the rest is only counted. */
const NAMED_MAX = 5;

/** The first few of many names, and how many more there are. */
export function nameSome(names: readonly string[], namedMax = NAMED_MAX): string {
  const shown = names.slice(0, namedMax).join(', ');
  return names.length > namedMax ? `${shown} and ${names.length - namedMax} more` : shown;
}
