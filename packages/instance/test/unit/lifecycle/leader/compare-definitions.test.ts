import { type Document, Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { storedEntry } from '../../../../src/catalog/stored-catalog.js';
import { readCatalog } from '../../../../src/catalog/read/read-catalog.js';
import type { Door } from '../../../../src/cluster/door.js';
import { DefinitionLeader } from '../../../../src/lifecycle/leader/definition-leader.js';
import { storeEntries } from '../../../../src/store/share-storage.js';
import { UuidPairs } from '../../../../src/store/uuid-pairs.js';
import { everything } from '../../catalog/catalog-pair.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { fakeCluster } from '../../fake-door.js';
import { never } from '../../model/parts.js';
import { contextOf, leaderEpoch, syncingMigration } from './leader-scene.js';

const wanted = { v: 2, key: { a: 1 }, name: 'a_1' };
const byHand = { ...wanted, sparse: true };
const uuidOf = ({ uuid }: { uuid: { toHexString(includeDashes: boolean): string } }): string => uuid.toHexString(false);

/** A source on which nothing is written. */
function sourceDoor({ door }: FakeCatalogServer): Door {
  const command: Door['command'] = async (database, sent, options) => ('appendOplogNote' in sent ? { operationTime: new Timestamp({ t: 100, i: 1 }) } : door.command(database, sent, options));
  return { label: 'source', command, openCursor: door.openCursor.bind(door), write: door.write.bind(door), close: () => Promise.resolve() };
}

/** The leader of a migration of one collection with an index, which the destination lacks. */
async function scene(onListed: (indexes: Document[]) => void) {
  const [sourceServer, server] = [new FakeCatalogServer(['rs']), new FakeCatalogServer(['rs'])];
  const from = sourceServer.add('shop.orders', { indexes: [wanted] });
  const to = server.add('shop.orders');
  const source = fakeCluster({ router: sourceDoor(sourceServer), kind: 'replicaSet', shardIds: ['rs'], shards: new Map([['rs', sourceDoor(sourceServer)]]) });
  const openCursor: Door['openCursor'] = async (database, sent, options) => {
    const cursor = await server.door.openCursor(database, sent, options);
    if (sent.listIndexes === 'orders') onListed(to.indexes);
    return cursor;
  };
  const command: Door['command'] = async (database, sent, options) => {
    const reply = await server.door.command(database, sent, options);
    if (sent.listIndexes === 'orders') onListed(to.indexes);
    return reply;
  };
  const router: Door = { label: 'destination', command, openCursor, write: server.door.write.bind(server.door), close: () => Promise.resolve() };
  const destination = fakeCluster({ router, kind: 'replicaSet', shardIds: ['rs'], clusterId: '0b' });

  const stored = await syncingMigration(['rs']);
  await storeEntries(stored.metadata, leaderEpoch, (await readCatalog(source, everything, never)).map(storedEntry), never);
  await (await UuidPairs.read(stored.metadata, leaderEpoch, never)).record([{ sourceUuid: uuidOf(from), destinationUuid: uuidOf(to) }], never);
  const context = await contextOf(stored, { source, destination });
  return { leader: await DefinitionLeader.take(context, leaderEpoch, never), indexes: to.indexes };
}

it('an index that somebody builds on the destination between two looks at it, under the name of a missing one, is replaced at the next comparison', async () => {
  let looks = 0;
  const { leader, indexes } = await scene((present) => {
    looks += 1;
    if (looks === 1) present.push(byHand);
  });
  await leader.compare(never);
  expect(indexes).toContainEqual(byHand);
  await leader.compare(never);
  expect(indexes.filter(({ name }) => name === 'a_1')).toEqual([wanted]);
});
