/** A source with each string that is written as pieces joined by `+` in one piece, so that long titles are found. */
export function withJoinedStrings(source: string): string {
  return source.replace(/(['"`])\s*\+\s*\1/g, '');
}
