import { systemClock } from '@convoy/instance/cluster/clock';
import type { ClusterClient } from '@convoy/instance/cluster/node-client';
import { compareClusters } from '@convoy/instance/verify/standalone/compare-clusters';
import type { ComparisonPhase } from '@convoy/instance/verify/standalone/comparison-dependencies';
import { ComparisonState } from '@convoy/instance/verify/standalone/comparison-state';
import type { VerifyOrder } from './verify-order.js';

/** Settings of `convoy verify`, but without waiting for a late destination. */
const options = { rule: { settle_ms: 0, looksMin: 3 }, generationsMax: 10, record_ms: 2_000, shardKeys: true };

/**
 * The whole comparison of two clusters, from reading the catalogs to the last repeated comparison, with its state on
 * disk.
 * @param entered called at the start of each phase
 * @returns number of documents proven different
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
