/** The fields that name the collection of a mismatch; `destination` only where it has another name there. */
export function namedOnBothSides(source: string, destination: string): { namespace: string; destination?: string } {
  return source === destination ? { namespace: source } : { namespace: source, destination };
}
