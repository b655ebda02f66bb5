import { SOURCE_WRITES_NAMED_MAX, type Progress } from '@convoy/api/contract/progress';

type SourceWrites = NonNullable<Progress['sourceWrites']>;

/** Sums over all shards of the source; null while one is unknown, since nobody may conclude then that writes ended. */
export function fleetWrites(all: readonly Progress['sourceWrites'][]): Progress['sourceWrites'] {
  const known = all.filter((one) => one !== null);
  const [first] = known;
  if (first === undefined || known.length < all.length) return null;
  return {
    windowSeconds: first.windowSeconds,
    writes: known.reduce((sum, { writes }) => sum + writes, 0),
    namespaces: mostWritten(known),
    lastWriteAt:
      known
        .flatMap(({ lastWriteAt }) => lastWriteAt ?? [])
        .sort()
        .at(-1) ?? null,
  };
}

function mostWritten(all: readonly SourceWrites[]): SourceWrites['namespaces'] {
  const sums = new Map<string, number>();
  for (const { namespace, writes } of all.flatMap(({ namespaces }) => namespaces))
    sums.set(namespace, (sums.get(namespace) ?? 0) + writes);
  return [...sums]
    .map(([namespace, writes]) => ({ namespace, writes }))
    .sort((a, b) => b.writes - a.writes || (a.namespace < b.namespace ? -1 : 1))
    .slice(0, SOURCE_WRITES_NAMED_MAX);
}
