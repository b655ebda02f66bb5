import { mostWritten, type Progress } from '@convoy/api/contract/progress';

/** Sums over all shards of the source; null while one is unknown, since nobody may conclude then that writes ended. */
export function fleetWrites(all: readonly Progress['sourceWrites'][]): Progress['sourceWrites'] {
  const known = all.filter((one) => one !== null);
  const [first] = known;
  if (first === undefined || known.length < all.length) return null;
  return {
    windowSeconds: first.windowSeconds,
    writes: known.reduce((sum, { writes }) => sum + writes, 0),
    namespaces: mostWritten(known.flatMap(({ namespaces }) => namespaces)),
    lastWriteAt:
      known
        .flatMap(({ lastWriteAt }) => lastWriteAt ?? [])
        .sort()
        .at(-1) ?? null,
  };
}
