import { hostname } from 'node:os';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Probe } from '../../src/framework/probe.js';
import { reach } from '../../src/framework/reach.js';
import { runProbes } from '../../src/framework/run-probes.js';
import { type Probed, startProbed } from './probed-cluster.js';

const signal = new AbortController().signal;

function probe(run: Probe['run']): Probe {
  return { name: 'made-here', sentence: 'It is so.', source: 'this test', otherwise: 'Nothing.', run };
}

describe('the scratch database', () => {
  let probed: Probed;
  let client: MongoClient;

  beforeAll(async () => {
    probed = await startProbed({ topology: 'sharded', withUsers: true });
    client = new MongoClient(probed.connectionString);
  });

  afterAll(async () => {
    await client.close();
    await probed[Symbol.asyncDispose]();
  });

  async function scratchDatabases(): Promise<string[]> {
    const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
    return databases.map(({ name }) => name).filter((name) => name.startsWith('convoy_probe'));
  }

  test('is removed with its users when a probe fails, and the next one runs', async () => {
    const probes = [
      probe(async (fixture) => {
        await fixture.collection([{ _id: 1 }]);
        await fixture.done({ createUser: 'made', pwd: 'here', roles: [] });
        throw new RangeError('broken');
      }),
      probe(async (fixture) => {
        await fixture.ask({ hello: 1 });
      }),
    ];
    const { findings, left } = await runProbes({ reached: probed.reached, probes, signal });
    expect(findings).toMatchObject([{ outcome: 'doesNotHold', answered: 'RangeError: broken' }, { outcome: 'holds' }]);
    expect(left).toBeNull();
    expect(await scratchDatabases()).toEqual([]);
    expect(
      await client.db('admin').command({ usersInfo: { forAllDBs: true }, filter: { user: 'made' } }),
    ).toMatchObject({ users: [] });
  });

  test('is removed when the run is interrupted', async () => {
    const interruption = new AbortController();
    const run = runProbes({
      reached: probed.reached,
      signal: interruption.signal,
      probes: [
        probe(async (fixture) => {
          await fixture.collection([{ _id: 1 }]);
          interruption.abort(new Error('interrupted'));
          await fixture.collection();
        }),
      ],
    });
    await expect(run).rejects.toThrow('interrupted');
    expect(await scratchDatabases()).toEqual([]);
  });

  test('is not created by a login that could not remove it', async () => {
    await client.db('admin').command({
      createUser: 'writer',
      pwd: 'secret',
      roles: ['readWriteAnyDatabase', 'clusterManager', 'clusterMonitor'],
    });
    const reached = await reach(probed.connectionString.replace('root:', 'writer:'), undefined, signal);
    try {
      // The shards do not have it at all.
      expect(reached).toMatchObject({ shards: [], withoutShards: 'AuthenticationFailed (18)' });
      await expect(runProbes({ reached, probes: [probe(() => Promise.resolve())], signal })).rejects.toMatchObject({
        error: 'permissionMissing',
        message: expect.stringMatching(/dbAdminAnyDatabase/) as unknown,
      });
      expect(await scratchDatabases()).toEqual([]);
    } finally {
      await reached.close();
    }
  });

  const later = new Date(Date.now() + 3_600_000);
  const nobody = 2 ** 22 + 1;
  test.each([
    ['whose process is gone', { host: hostname(), pid: nobody, until: later }, true],
    ['whose process lives', { host: hostname(), pid: process.ppid, until: later }, false],
    ['of another machine whose time is not over', { host: `not-${hostname()}`, pid: nobody, until: later }, false],
    ['whose time is over', { host: `not-${hostname()}`, pid: process.ppid, until: new Date(0) }, true],
  ])('of an earlier run, %s, is removed: %o, %s', async (_, owner, isRemoved) => {
    const db = 'convoy_probe_0123456789ab';
    await client
      .db(db)
      .collection<{ _id: string }>('run')
      .insertOne({ _id: 'run', ...owner });
    try {
      const { removed, kept } = await runProbes({ reached: probed.reached, probes: [], signal });
      expect({ removed, kept }).toEqual(isRemoved ? { removed: [db], kept: [] } : { removed: [], kept: [db] });
      expect(await scratchDatabases()).toEqual(isRemoved ? [] : [db]);
    } finally {
      await client.db(db).dropDatabase();
    }
  });
});
