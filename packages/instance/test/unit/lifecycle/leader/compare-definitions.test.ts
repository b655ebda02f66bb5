import { type Document, Timestamp } from 'mongodb';
import { expect, it, onTestFinished, vi } from 'vitest';
import { storedEntry } from '../../../../src/catalog/catalog-bytes.js';
import { readCatalog } from '../../../../src/catalog/read-catalog.js';
import type { NodeClient } from '../../../../src/cluster/node-client.js';
import { DdlLeader } from '../../../../src/lifecycle/leader/ddl-leader.js';
import { storeEntries } from '../../../../src/store/task-storage.js';
import { UuidPairs } from '../../../../src/store/ddl-journal.js';
import { everything } from '../../catalog/catalog-pair.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { fakeCluster } from '../../fake-node-client.js';
import { serverError } from '../../model/calls.js';
import { never } from '../../model/parts.js';
import { patience_ms } from '../../../../../../test/patience.js';
import { depsOf, leaderEpoch, syncingMigration } from './leader-fixture.js';

const wanted = { v: 2, key: { a: 1 }, name: 'a_1' };
const byHand = { ...wanted, sparse: true };
const uuidOf = ({ uuid }: { uuid: { toHexString(includeDashes: boolean): string } }): string => uuid.toHexString(false);

/** A source without writes. */
function sourceClient({ client }: FakeCatalogServer): NodeClient {
  const command: NodeClient['command'] = async (database, sent, options) =>
    'appendOplogNote' in sent
      ? { operationTime: new Timestamp({ t: 100, i: 1 }) }
      : client.command(database, sent, options);
  return {
    label: 'source',
    command,
    openCursor: client.openCursor.bind(client),
    write: client.write.bind(client),
    close: () => Promise.resolve(),
  };
}

/** The leader of a migration of one collection with an index, which the destination lacks. */
async function fixture(
  onListed: (indexes: Document[]) => void,
  onDrop: () => void = () => undefined,
  onBuild: () => Promise<void> = () => Promise.resolve(),
) {
  const [sourceServer, server] = [new FakeCatalogServer(['rs']), new FakeCatalogServer(['rs'])];
  const from = sourceServer.add('shop.orders', { indexes: [wanted] });
  const to = server.add('shop.orders');
  const source = fakeCluster({
    router: sourceClient(sourceServer),
    kind: 'replicaSet',
    shardIds: ['rs'],
    shards: new Map([['rs', sourceClient(sourceServer)]]),
  });
  const openCursor: NodeClient['openCursor'] = async (database, sent, options) => {
    const cursor = await server.client.openCursor(database, sent, options);
    if (sent.listIndexes === 'orders') onListed(to.indexes);
    return cursor;
  };
  const command: NodeClient['command'] = async (database, sent, options) => {
    if ('dropIndexes' in sent) onDrop();
    if ('createIndexes' in sent) await onBuild();
    const reply = await server.client.command(database, sent, options);
    if (sent.listIndexes === 'orders') onListed(to.indexes);
    return reply;
  };
  const router: NodeClient = {
    label: 'destination',
    command,
    openCursor,
    write: server.client.write.bind(server.client),
    close: () => Promise.resolve(),
  };
  const destination = fakeCluster({ router, kind: 'replicaSet', shardIds: ['rs'], clusterId: '0b' });

  const stored = await syncingMigration(['rs']);
  await storeEntries(
    stored.metadata,
    leaderEpoch,
    (await readCatalog(source, everything, never)).map(storedEntry),
    never,
  );
  await (
    await UuidPairs.read(stored.metadata, leaderEpoch, never)
  ).record([{ sourceUuid: uuidOf(from), destinationUuid: uuidOf(to) }], never);
  const deps = await depsOf(stored, { source, destination });
  return { deps, leader: await DdlLeader.take(deps, never), indexes: to.indexes };
}

it('an index built by somebody else under the name of a missing one is replaced at the next comparison', async () => {
  let looks = 0;
  const { leader, indexes } = await fixture((present) => {
    looks += 1;
    if (looks === 1) present.push(byHand);
  });
  await leader.compare(never);
  expect(indexes).toContainEqual(byHand);
  await leader.compare(never);
  expect(indexes.filter(({ name }) => name === 'a_1')).toEqual([wanted]);
});

it('a difference that the leader cannot mend is a warning after a while, until it can', async () => {
  let refused = true;
  const { deps, leader, indexes } = await fixture(
    () => undefined,
    () => {
      if (refused) throw serverError(370);
    },
  );
  indexes.push({ ...wanted, key: { b: 1 }, name: 'b_1' });
  let now_ms = 0;
  const clock = vi.spyOn(deps.runtime.clock, 'monotonic_ms').mockImplementation(() => now_ms);
  onTestFinished(() => clock.mockRestore());
  const compared = async (at_ms: number, by = leader): Promise<unknown[]> => {
    now_ms = at_ms;
    const isDone = await by.compare(never);
    return [isDone, ...deps.watch.view.record.warnings.map(({ name }) => name)];
  };
  expect(await compared(1_000)).toEqual([false]);
  expect(await compared(30_999)).toEqual([false]);
  expect(await compared(31_000)).toEqual([false, 'definitionsDiffer']);
  const next = await deps.records.takeLeaderEpoch(never);
  const successor = await DdlLeader.take({ ...deps, leaderEpoch: next }, never);
  expect(await compared(31_500, successor)).toEqual([false, 'definitionsDiffer']);
  refused = false;
  expect(await compared(32_000, successor)).toEqual([true]);
});

it('a build that lasts is a warning until the index is there', async () => {
  let building = (): Promise<void> => Promise.resolve();
  const { deps, leader, indexes } = await fixture(
    () => undefined,
    () => undefined,
    () => building(),
  );
  const { clock } = deps.runtime;
  const warnings = (): string[] => deps.watch.view.record.warnings.map(({ name }) => name);
  building = () => vi.waitFor(() => expect(warnings()).toEqual(['definitionsDiffer']), { timeout: patience_ms() });
  const sleep = vi.spyOn(clock, 'sleep').mockImplementation(() => Promise.resolve());
  onTestFinished(() => sleep.mockRestore());
  const warned = building;
  building = () => warned().then(() => Promise.reject(serverError(171)));
  expect(await leader.compare(never)).toBe(false);
  expect(deps.watch.view.record.warnings[0]?.description).toMatch(/171/);
  building = () => Promise.resolve();
  expect(await leader.compare(never)).toBe(true);
  expect([indexes.map(({ name }) => name as string), warnings()]).toEqual([
    expect.arrayContaining(['a_1']) as unknown,
    [],
  ]);
});
