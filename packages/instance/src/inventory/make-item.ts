import { type Document, MongoServerError } from 'mongodb';
import { losslessDocument } from '../bson/sent-value.js';
import { setZone } from '../catalog/place-chunks.js';
import { readConfig } from '../catalog/read-sharding.js';
import { codeOf, duplicateKeyCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { Payload, ZoneRange } from './item.js';
import { rangeText, readBalancing } from './read/sharding-settings.js';

/** The error of `createRole` for a role that exists. */
const roleExistsCode = 51_002;
/** NamespaceNotSharded */
const notShardedCode = 118;

type PayloadOf<Type extends Payload['type']> = Extract<Payload, { type: Type }>;

/**
 * Makes an item on a cluster. It may be repeated: what is there already, stays.
 * @throws what the server refuses
 */
export function makeItem(cluster: ClusterClient, payload: Payload, signal: AbortSignal): Promise<void> {
  const admin = async (command: Document): Promise<void> => {
    await cluster.router.command('admin', command, { signal });
  };
  switch (payload.type) {
    case 'zone':
      return makeZone(cluster, payload, signal);
    case 'ranges':
      return makeRanges(cluster, payload, signal);
    case 'balancing':
      return makeBalancing(cluster, payload, signal);
    case 'user':
      return makeUser(cluster, payload, signal);
    case 'role':
      return makeRole(cluster, payload, signal);
    case 'defaultConcern':
      return admin({ setDefaultRWConcern: 1, ...payload.set });
    case 'clusterParameter':
      return admin({ setClusterParameter: { [payload.parameter]: payload.value } });
    case 'querySettings':
      return admin({ setQuerySettings: losslessDocument(payload.query), settings: losslessDocument(payload.settings) });
  }
}

async function makeZone({ router }: ClusterClient, { zone, shards }: PayloadOf<'zone'>, signal: AbortSignal) {
  for (const shard of shards) await router.command('admin', { addShardToZone: shard, zone }, { signal });
}

/** Ranges that overlap others are refused, so those that the source does not have go first. */
async function makeRanges(cluster: ClusterClient, { namespace, ranges }: PayloadOf<'ranges'>, signal: AbortSignal) {
  const tags = await readConfig(cluster.router, { find: 'tags', filter: { ns: namespace } }, signal);
  const present = tags.map(({ min, max, tag }): ZoneRange => ({
    min: min as Uint8Array,
    max: max as Uint8Array,
    zone: String(tag),
  }));
  const wanted = new Set(ranges.map(rangeText));
  const found = new Set(present.map(rangeText));
  for (const range of present)
    if (!wanted.has(rangeText(range))) await setZone(cluster, namespace, range, null, signal);
  for (const range of ranges)
    if (!found.has(rangeText(range))) await setZone(cluster, namespace, range, range.zone, signal);
}

async function makeBalancing(cluster: ClusterClient, payload: PayloadOf<'balancing'>, signal: AbortSignal) {
  const { namespace, noBalance, chunkSize_MB, autoMerger } = payload;
  const { router } = cluster;
  const items = await readBalancing(cluster, signal);
  const present = items.flatMap(({ payload: each }) => (each?.type === 'balancing' ? [each] : []));
  const found = present.find((each) => each.namespace === namespace) ?? { chunkSize_MB: null, autoMerger: true };
  if (found.chunkSize_MB !== chunkSize_MB || found.autoMerger !== autoMerger)
    await router.command(
      'admin',
      {
        configureCollectionBalancing: namespace,
        // 0 means the size of the cluster.
        ...(found.chunkSize_MB !== chunkSize_MB && { chunkSize: chunkSize_MB ?? 0 }),
        ...(found.autoMerger !== autoMerger && { enableAutoMerger: autoMerger }),
      },
      { signal },
    );
  // The command has no part for `noBalance` in all releases: shells write the document, as `sh.disableBalancing` does.
  const updates = [{ q: { _id: namespace }, u: { $set: { noBalance } } }];
  const written = await router.command('config', { update: 'collections', updates }, { signal });
  if (Number(written.n) === 0)
    throw new MongoServerError({ message: 'the collection is not sharded', code: notShardedCode });
}

/** The document as it is stored, credentials included, as mongorestore inserts it. */
async function makeUser({ router }: ClusterClient, { document }: PayloadOf<'user'>, signal: AbortSignal) {
  const write = {
    database: 'admin',
    collection: 'system.users',
    kind: 'insert',
    statements: [document],
    ordered: true,
  };
  const { failures } = await router.write(write as Parameters<typeof router.write>[0], null, { signal });
  const failure = failures.find(({ code }) => code !== duplicateKeyCode);
  if (failure !== undefined) throw new MongoServerError({ message: 'the user was refused', code: failure.code });
}

async function makeRole({ router }: ClusterClient, { document }: PayloadOf<'role'>, signal: AbortSignal) {
  const { role, db, privileges = [], roles = [], authenticationRestrictions } = document as Record<string, unknown>;
  const restrictions = authenticationRestrictions === undefined ? {} : { authenticationRestrictions };
  const command = { createRole: role, privileges, roles, ...restrictions };
  await router.command(String(db), command, { signal }).catch((error: unknown) => {
    if (codeOf(error) !== roleExistsCode) throw error;
  });
}
