import { systemClock } from '@convoy/instance/cluster/clock';
import type { ClusterClient } from '@convoy/instance/cluster/node-client';
import { compareClusters } from '@convoy/instance/verify/standalone/compare-clusters';
import type { ComparisonPhase } from '@convoy/instance/verify/standalone/comparison-dependencies';
import { ComparisonState } from '@convoy/instance/verify/standalone/comparison-state';
import type { VerifyOrder } from './verify-order.js';

/** As `convoy verify` has them, but without the time that a late destination is given. */
const options = { rule: { settle_ms: 0, looksMin: 3 }, generationsMax: 10, record_ms: 2_000, shardKeys: true };

/**
 * The whole comparison of two clusters, from reading the catalogs to the last look at what differs, with its state on the disk.
 * @param entered told when a phase begins
 * @returns documents that are proven different
 */
export async function verifierComparison(
  source: ClusterClient,
  destination: ClusterClient,
  { collection, readers, stateFolder }: VerifyOrder,
  entered: (phase: ComparisonPhase) => void,
): Promise<number> {
  await using state = await ComparisonState.open(stateFolder);
  const context = {
    source,
    destination,
    state,
    options: { ...options, readers },
    clock: systemClock,
    retrying: <T>(_what: string, operation: () => Promise<T>) => operation(),
    entered,
    signal: new AbortController().signal,
  };
  const includeNamespaces = [{ database: collection.database, collections: [collection.collection] }];
  const { totals } = await compareClusters(context, { includeNamespaces, excludeNamespaces: [] });
  if (totals.sourceDocuments !== collection.documents)
    throw new Error(`The verifier compared ${totals.sourceDocuments} of ${collection.documents} documents.`);
  return totals.mismatches;
}
