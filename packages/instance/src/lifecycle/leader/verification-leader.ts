import type { Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CatalogDifference } from '../../catalog/plan/compare-catalogs.js';
import { nameSome } from '../../catalog/name-some.js';
import { timeAboveAll, timestampOf } from '../../cluster/cluster-time.js';
import { isVerified, type MigrationRecord } from '../../store/migration-record.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { allTasks, type MigrationView } from '../migration/migration-watch.js';
import { nameOfMismatch } from './verification-mismatches.js';

/** What differs about a namespace; `order`: the documents of a capped collection were inserted in another one. */
type NotedDifference = Omit<CatalogDifference, 'kind'> & { kind: CatalogDifference['kind'] | 'order' };

/** Of the mismatches so many are looked through for the namespaces that a failure names. */
const namedFromMax = 1_000;

/**
 * The leader's word before it goes on with a sealed commit: all shares look at everything that was not compared, or was written to
 * since, up to the commit time on the source and the present time on the destination. What an earlier leader has asked for
 * in the same step is waited for, and not asked for anew: nobody writes to the destination between the two.
 * @param restored the attributes that were deferred are restored: the destination expires documents by itself again
 * @throws ConvoyError `verificationFailed` when anything differs, `staleEpoch` when another leader has asked meanwhile
 */
export async function verifyDocuments(
  deps: MigrationDependencies,
  leaderEpoch: number,
  restored: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { watch } = deps;
  const { commit } = watch.view.record;
  if (!isVerified(watch.view.record) || commit === null) return;
  await watch.until(
    (view) => allTasks(view, ({ verification }) => (verification?.planned ?? -1) >= view.record.ddlChanges.done),
    signal,
  );
  const number =
    askedBefore(watch.view.record, restored) ?? (await ask(deps, leaderEpoch, commit.time, restored, signal));
  const isAskedAnew = ({ record }: MigrationView): boolean => (record.verification?.number ?? 0) > number;
  const isAnswered = (view: MigrationView): boolean =>
    allTasks(view, ({ verification }) => verification?.answered === number);
  await watch.until((view) => isAskedAnew(view) || isAnswered(view), signal);
  if (isAskedAnew(watch.view)) throw new ConvoyError('staleEpoch', 'Another instance leads.');
  const { tasks } = watch.view;
  const mismatches = [...tasks.values()].reduce((sum, { verification }) => sum + (verification?.mismatches ?? 0), 0);
  if (mismatches > 0) throw await verificationFailed(deps, mismatches, signal);
}

/** The number of the same look, where an earlier leader has asked for it; null otherwise. */
function askedBefore({ commit, verification }: MigrationRecord, restored: boolean): number | null {
  const isSame = verification?.restored === restored && commit !== null && verification.source.equals(commit.time);
  return isSame ? verification.number : null;
}

async function ask(
  { watch, records, runtime, destination, fleet }: MigrationDependencies,
  leaderEpoch: number,
  source: Timestamp,
  restored: boolean,
  signal: AbortSignal,
): Promise<number> {
  const time = await runtime.retrying(
    'take a time of the destination',
    () => timeAboveAll(destination, { signal }),
    signal,
  );
  const number = (watch.view.record.verification?.number ?? 0) + 1;
  await records.updateAsLeader(
    leaderEpoch,
    { verification: { number, source, destination: timestampOf(time), restored } },
    signal,
  );
  fleet.wake();
  return number;
}

/** @param mismatches of all shares; two of them may have found the same, which is told as long as they are few */
async function verificationFailed(
  { metadata }: MigrationDependencies,
  mismatches: number,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const found = await metadata.findSome('mismatches', {}, namedFromMax, signal);
  const namespaces = [...new Set(found.map(({ namespace }) => String(namespace)))].sort();
  const count = found.length < namedFromMax ? new Set(found.map(nameOfMismatch)).size : mismatches;
  return new ConvoyError(
    'verificationFailed',
    `${count} differences between source and destination, in: ${nameSome(namespaces)}. GET /api/v1/verification/mismatches names them. The destination stays closed.`,
  );
}

/** Notes namespaces that differ among the mismatches, where the migration is verified. */
export async function noteDifferences(
  { metadata, watch, runtime }: Pick<MigrationDependencies, 'metadata' | 'watch' | 'runtime'>,
  differences: readonly NotedDifference[],
  signal: AbortSignal,
): Promise<void> {
  if (!isVerified(watch.view.record) || differences.length === 0) return;
  const now = new Date(runtime.clock.now_ms());
  const documents = differences.map(({ kind, namespace, detail }) => ({
    _id: `definition/${namespace}/${kind}/${detail}`,
    namespace,
    kind,
    detail,
    firstSeen: now,
    lastSeen: now,
    looks: 1,
  }));
  await metadata.upsertMany('mismatches', documents, signal);
}
