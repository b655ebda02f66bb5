import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { BSON, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CallOptions, ClusterClient, NodeClient } from '../../../../src/cluster/node-client.js';
import { carryAccess, carrySettings, followInventory, planCarry } from '../../../../src/lifecycle/leader/carry.js';
import type { Retrying } from '../../../../src/async/retry.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import type { LeaderDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import { CarryJournal } from '../../../../src/store/carry-journal.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { fakeCluster, FakeNodeClient, type Handler, serverError } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { depsWith, runtimeWith } from '../../model/deps-with.js';
import { metadataIn, MetadataModel } from '../../model/metadata-model.js';
import { viewWith } from '../../model/migration-state.js';
import { never, once, times } from '../../model/parts.js';
import { untilAborted } from '../../model/scheduler.js';
import { VirtualClock } from '../../verify/embedded/virtual-clock.js';

const options = parseStartRequest({
  source: 'cluster0',
  destination: 'cluster1',
  carry: ['zones', 'usersAndRoles', 'defaultConcerns'],
});
const secret = 'the stored key of clerk';
const [reader, clerk] = [
  { _id: 'shop.reader', role: 'reader', db: 'shop', privileges: [], roles: [] },
  { _id: 'shop.clerk', user: 'clerk', db: 'shop', credentials: { secret }, roles: [{ role: 'reader', db: 'shop' }] },
];

let clock: VirtualClock;
let model: MetadataModel;
let record: MigrationRecord;
/** What the source has in each of its collections of settings. */
let stored: Record<string, Document[]>;
/** Every change of the destination, in order. */
let made: string[];
/** Commands that the destination refuses, and whether it answers none. */
let refused: string[];
let isSilent: boolean;

beforeEach(() => {
  clock = new VirtualClock(() => 0);
  model = new MetadataModel();
  record = viewWith({ phase: 'syncing', options, inventoryLook: 'pending' }).record;
  stored = {
    'system.users': [clerk],
    'system.roles': [reader],
    shards: [{ _id: 'shard0', tags: ['EU'] }, { _id: 'shard1' }],
  };
  [made, refused, isSilent] = [[], [], false];
});

const answers = (found: Record<string, Document[]>): Record<string, Handler> => ({
  find: (_, { find }) => ({ cursor: { firstBatch: found[String(find)] ?? [] } }),
  connectionStatus: () => ({ authInfo: { authenticatedUsers: [] } }),
});

function source(): ClusterClient {
  const defaults = { defaultReadConcern: { level: 'majority' }, defaultReadConcernSource: 'global' };
  const router = new FakeNodeClient('cluster0', { ...answers(stored), getDefaultRWConcern: () => defaults });
  return fakeCluster({ router, version: [8, 0, 10] });
}

/** A router that notes what is made on it. */
function destinationRouter(): NodeClient {
  const reads = new FakeNodeClient('cluster1', answers({ shards: [{ _id: 'shard0' }, { _id: 'shard1' }] }));
  const change = async (name: string, { signal }: CallOptions): Promise<void> => {
    if (isSilent) await untilAborted(signal, () => undefined);
    if (refused.includes(name)) throw serverError(2, 'BadValue');
    made.push(name);
  };
  return clientWith({
    openCursor: reads.openCursor.bind(reads),
    command: async (database: string, command: Document, calling: CallOptions) => {
      const name = Object.keys(command)[0] ?? '';
      if (!['createRole', 'addShardToZone', 'setDefaultRWConcern'].includes(name))
        return reads.command(database, command, calling);
      await change(name, calling);
      return { ok: 1 };
    },
    write: async (_write, _concern, calling) => {
      await change('insert user', calling);
      return { n: 1, nModified: 0, upserted: 0, failures: [] };
    },
  });
}

const runtimeOf = (retrying: Retrying): Runtime =>
  runtimeWith({
    clock: {
      now_ms: () => clock.now_ms(),
      monotonic_ms: () => clock.monotonic_ms(),
      sleep: clock.sleep.bind(clock),
    },
    retrying,
    logger: { info: () => undefined, warn: () => undefined, debug: () => undefined },
  });

const update = (_epoch: number, set: Partial<MigrationRecord>): Promise<void> =>
  Promise.resolve(void Object.assign(record, set));

function deps(from: ClusterClient = source(), updateAsLeader = update): LeaderDependencies {
  const view = { record, tasks: new Map() };
  return depsWith({
    leaderEpoch: 1,
    runtime: runtimeOf(once),
    fleet: { wake: () => undefined },
    metadata: metadataIn(model),
    source: from,
    destination: fakeCluster({ name: 'cluster1', router: destinationRouter(), version: [8, 0, 10] }),
    watch: { view, refresh: () => Promise.resolve(view) },
    records: {
      confirmLeader: () => Promise.resolve(),
      updateAsLeader,
    },
  });
}

/** The journal of the commit: each item with its state and failure. */
async function journal(): Promise<string[]> {
  const items = await new CarryJournal(metadataIn(model)).read(1, never);
  return items.map(
    ({ kind, name, state, failure }) => `${kind} ${name}: ${state}${failure === null ? '' : ` (${failure})`}`,
  );
}

const warning = (name: string): string | undefined => record.warnings.find((each) => each.name === name)?.description;

/** Plans and makes everything, as a commit does. */
async function carryAll(): Promise<void> {
  const leader = deps();
  await carryAccess(leader, await planCarry(leader, never), never);
  await clock.run(carrySettings(leader, never));
}

describe('what a commit takes along', () => {
  it('is in the journal before any of it is made, without credentials', async () => {
    await planCarry(deps(), never);
    expect(made).toEqual([]);
    expect(record.carryEpoch).toBe(1);
    expect(await journal()).toEqual([
      'roles reader@shop: planned',
      'users clerk@shop: planned',
      'zones zone EU: planned',
      'defaultConcerns defaultReadConcern: planned',
    ]);
    expect(Buffer.from(BSON.serialize({ all: model.documents('carried') })).includes(secret)).toBe(false);
  });

  it('is read again after an election, which is no missing privilege', async () => {
    let elections = 1;
    const { router, ...others } = source();
    const command: NodeClient['command'] = async (...call) => {
      if (call[1].getDefaultRWConcern === 1 && (elections -= 1) >= 0) throw serverError(189, 'PrimarySteppedDown');
      return router.command(...call);
    };
    const elected = { ...others, router: clientWith({ command, openCursor: router.openCursor.bind(router) }) };
    const leader = deps(elected);
    await planCarry({ ...leader, runtime: runtimeOf(times(2)) }, never);
    expect(await journal()).toContain('defaultConcerns defaultReadConcern: planned');
  });

  it('is roles, then users, and after the decision everything else', async () => {
    const leader = deps();
    await carryAccess(leader, await planCarry(leader, never), never);
    expect(made).toEqual(['createRole', 'insert user']);
    await carrySettings(leader, never);
    expect(made).toEqual(['createRole', 'insert user', 'addShardToZone', 'setDefaultRWConcern']);
    expect((await journal()).every((item) => item.endsWith('carried'))).toBe(true);
  });

  it('is made from the journal by a later leader, although the source is gone, and nothing of it twice', async () => {
    const leader = deps();
    await carryAccess(leader, await planCarry(leader, never), never);
    made = [];
    const away = fakeCluster({ router: clientWith({}), version: [8, 0, 10] });
    await carrySettings(deps(away), never);
    expect(made).toEqual(['addShardToZone', 'setDefaultRWConcern']);
    made = [];
    await carrySettings(deps(away), never);
    expect(made).toEqual([]);
  });

  it('what the destination refuses after the decision is named with the reason, and the others are made', async () => {
    refused = ['addShardToZone'];
    await carryAll();
    expect(made).toEqual(['createRole', 'insert user', 'setDefaultRWConcern']);
    expect(warning('notCarried')).toContain('zones zone EU (BadValue (2))');
    expect(warning('notCarried')).not.toContain('defaultReadConcern');
  });

  it('a destination that does not answer delays the opening by two minutes, and everything is named', async () => {
    const leader = deps();
    await carryAccess(leader, await planCarry(leader, never), never);
    isSilent = true;
    const began_ms = clock.monotonic_ms();
    await clock.run(carrySettings(leader, never));
    expect(clock.monotonic_ms() - began_ms).toBe(120_000);
    expect((await journal()).slice(2)).toEqual([
      expect.stringMatching(/^zones zone EU: failed/),
      'defaultConcerns defaultReadConcern: failed (no time was left)',
    ]);
    for (const name of ['zones zone EU', 'defaultConcerns defaultReadConcern (no time was left)'])
      expect(warning('notCarried')).toContain(name);
  });
});

describe('the first look at what would be left behind', () => {
  /** Follows the inventory of this source until a time, and notes when it reads the source's zones. */
  async function follow(find: () => Promise<void>, until_ms: number, updateAsLeader = update): Promise<number[]> {
    const stop = new AbortController();
    const looks: number[] = [];
    const { router, ...others } = source();
    const openCursor: NodeClient['openCursor'] = async (database, command, calling) => {
      if (command.find === 'shards') {
        looks.push(clock.monotonic_ms());
        await find();
      }
      return router.openCursor(database, command, calling);
    };
    const slow = { ...others, router: clientWith({ command: router.command.bind(router), openCursor }) };
    const following = followInventory(deps(slow, updateAsLeader), stop.signal).catch(() => undefined);
    await clock.run(clock.sleep(until_ms, never));
    stop.abort(new Error('the test is over'));
    await following;
    return looks;
  }

  it('is awaited until its warnings are recorded, then once a minute', async () => {
    const seen: unknown[] = [];
    const looks = await follow(async () => {
      seen.push(record.inventoryLook);
      await clock.sleep(3_000, never);
    }, 64_000);
    expect(looks).toEqual([0, 63_000]);
    expect(seen).toEqual(['pending', 'done']);
    expect(record.inventoryLook).toBe('done');
  });

  it('has recorded what stays behind when a commit can be offered', async () => {
    record.options = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
    const before: (string | undefined)[] = [];
    const noteDone = (_epoch: number, set: Partial<MigrationRecord>): Promise<void> => {
      if (set.inventoryLook === 'done') before.push(warning('leftBehind'));
      return Promise.resolve(void Object.assign(record, set));
    };
    await follow(() => Promise.resolve(), 1_000, noteDone);
    expect(before).toEqual([expect.stringContaining('users clerk@shop')]);
  });

  it('holds no commit once it has failed, and is made again after seconds', async () => {
    let failures = 2;
    const looks = await follow(() => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(serverError(189, 'PrimarySteppedDown')) : Promise.resolve();
    }, 12_000);
    expect(looks).toEqual([0, 5_000, 10_000]);
    expect(record.inventoryLook).toBe('done');
  });

  it('that takes longer than a minute counts as failed', async () => {
    const looks = await follow(() => new Promise(() => undefined), 66_000);
    expect(looks).toEqual([0, 65_000]);
    expect(record.inventoryLook).toBe('done');
  });
});
