import type { Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CatalogDifference } from '../../catalog/plan/compare-catalogs.js';
import { namespaceFrom, namespaceOf } from '../../catalog/namespace.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { nameSome } from '../../catalog/name-some.js';
import { timeAboveAll, timestampOf } from '../../cluster/cluster-time.js';
import { isVerified, type MigrationRecord } from '../../store/migration-record.js';
import { type LeaderDependencies, type MigrationDependencies, remapOf } from '../migration/migration-dependencies.js';
import { namedOnBothSides } from '../../verify/compare/named-on-both-sides.js';
import { allTasks, type MigrationView } from '../migration/migration-watch.js';
import { nameOfMismatch } from './verification-mismatches.js';

/**
 * A difference in a namespace of the destination; `order`: the documents of a capped collection were inserted in
 * another order.
 */
type NotedDifference = Omit<CatalogDifference, 'kind'> & { kind: CatalogDifference['kind'] | 'order' };

/** Mismatches that are read for the namespaces in a failure's description. */
const namedFromMax = 1_000;

/**
 * Asks all tasks for a look before a sealed commit continues. They look at everything uncompared or written since, up
 * to the commit time on the source and the present time on the destination. If an earlier leader has asked in the same
 * step, it waits for that look: nobody writes to the destination in between.
 * @param restored the deferred attributes are restored: the destination expires documents by itself again
 * @throws ConvoyError `verificationFailed` when anything differs, `staleEpoch` when another leader has asked meanwhile
 */
export async function verifyDocuments(deps: LeaderDependencies, restored: boolean, signal: AbortSignal): Promise<void> {
  const { watch } = deps;
  const { commit } = watch.view.record;
  if (!isVerified(watch.view.record) || commit === null) return;
  await watch.until(
    (view) => allTasks(view, ({ verification }) => (verification?.planned ?? -1) >= view.record.ddlChanges.done),
    signal,
  );
  const number = askedBefore(watch.view.record, restored) ?? (await ask(deps, commit.time, restored, signal));
  const isAskedAnew = ({ record }: MigrationView) => (record.verification?.number ?? 0) > number;
  const isAnswered = (view: MigrationView) => allTasks(view, ({ verification }) => verification?.answered === number);
  await watch.until((view) => isAskedAnew(view) || isAnswered(view), signal);
  if (isAskedAnew(watch.view)) throw new ConvoyError('staleEpoch', 'Another instance leads.');
  const { tasks } = watch.view;
  const mismatches = [...tasks.values()].reduce((sum, { verification }) => sum + (verification?.mismatches ?? 0), 0);
  if (mismatches > 0) throw await verificationFailed(deps, mismatches, signal);
}

/** The number of the same look, if an earlier leader has asked for it; null otherwise. */
function askedBefore({ commit, verification }: MigrationRecord, restored: boolean): number | null {
  const isSame = verification?.restored === restored && commit !== null && verification.source.equals(commit.time);
  return isSame ? verification.number : null;
}

async function ask(
  { watch, records, runtime, destination, fleet, leaderEpoch }: LeaderDependencies,
  source: Timestamp,
  restored: boolean,
  signal: AbortSignal,
): Promise<number> {
  const time = await runtime.retrying(
    'take a cluster time of the destination',
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

/** @param mismatches of all tasks; a mismatch that two tasks found counts once, as long as there are few */
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
    `${count === 1 ? '1 difference' : `${count} differences`} between source and destination, in: ` +
      `${nameSome(namespaces)}. ` +
      'GET /api/v1/verification/mismatches names them. The destination stays closed.',
  );
}

/** Notes namespaces that differ among the mismatches, if the migration is verified. */
export async function noteDifferences(
  { metadata, watch, runtime }: MigrationDependencies,
  differences: readonly NotedDifference[],
  signal: AbortSignal,
): Promise<void> {
  if (!isVerified(watch.view.record) || differences.length === 0) return;
  const now = new Date(runtime.clock.now_ms());
  const remap = remapOf(watch.view.record);
  const documents = differences.map(({ kind, namespace, detail }) => ({
    _id: `definition/${namespace}/${kind}/${detail}`,
    ...sourceNameOf(remap, namespace),
    kind,
    detail,
    firstSeen: now,
    lastSeen: now,
    looks: 1,
  }));
  await metadata.upsertMany('mismatches', documents, signal);
}

/** @param destination the name of a collection on the destination */
export function sourceNameOf(remap: NamespaceRemap, destination: string): ReturnType<typeof namedOnBothSides> {
  const source = remap.toSource(namespaceFrom(destination));
  return namedOnBothSides(source === null ? destination : namespaceOf(source), destination);
}
