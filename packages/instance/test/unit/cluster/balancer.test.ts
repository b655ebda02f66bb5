import type { Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { isAutoMergerOff, readBalancer, restoreBalancer, stopBalancer } from '../../../src/cluster/balancer.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';

const signal = new AbortController().signal;

const idle = { busy: false, mustWait: false, moves: [] };

/** A balancer that stays busy for some checks after it was stopped. */
function balancer(start: { mode: string; roundsLeft: number; migrations?: number }) {
  const state = { migrations: 0, ...start };
  const client = new FakeNodeClient('router', (command: Document): Document => {
    if ('balancerStop' in command) state.mode = 'off';
    if ('balancerStart' in command) state.mode = 'full';
    if ('balancerStatus' in command) return { mode: state.mode, inBalancerRound: state.roundsLeft-- > 0 };
    if (command['find'] === 'migrations') return { cursor: { firstBatch: state.migrations-- > 0 ? [{}] : [] } };
    if (command['find'] === 'locks') return { cursor: { firstBatch: [] } };
    return { ok: 1 };
  });
  return { client, cluster: fakeCluster({ router: client }), state };
}

describe('the balancer', () => {
  test('is stopped, with a wait for rounds and migrations alike', async () => {
    const { cluster, state } = balancer({ mode: 'full', roundsLeft: 3, migrations: 5 });
    expect(await stopBalancer(cluster, { signal, poll_ms: 1 })).toMatchObject({ enabled: true, busy: true });
    expect(state.mode).toBe('off');
    expect(state.migrations).toBeLessThan(0);
    await restoreBalancer(cluster, { enabled: true }, { signal });
    expect(state.mode).toBe('full');
  });

  test('that was off stays off', async () => {
    const { cluster, client } = balancer({ mode: 'off', roundsLeft: 0 });
    const before = await stopBalancer(cluster, { signal, poll_ms: 1 });
    await restoreBalancer(cluster, before, { signal });
    expect(before).toEqual({ enabled: false, ...idle });
    expect(client.sent.some(({ command }) => 'balancerStart' in command || 'balancerStop' in command)).toBe(false);
  });

  test('that does not stop in time is a named failure', async () => {
    const { cluster } = balancer({ mode: 'full', roundsLeft: Infinity });
    const error = await stopBalancer(cluster, { signal, poll_ms: 1, quietLimit_ms: 5 }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as ConvoyError).error).toBe('balancerStillRunning');
  });

  /** A balancer of 8.0 that is off, while something is under way; null: the user may not see it. */
  function off(operations: Document[] | null, reshardings: Document[] | null): ClusterClient {
    const { client } = balancer({ mode: 'off', roundsLeft: 0 });
    const router = new FakeNodeClient('router', (command) => {
      const shown = 'aggregate' in command ? operations : reshardings;
      if (!('aggregate' in command) && command['find'] !== 'reshardingOperations')
        return client.handlerOf('')('', command, command);
      if (shown === null) throw serverError(13, 'Unauthorized');
      return { cursor: { firstBatch: shown } };
    });
    return fakeCluster({ router, version: [8, 0, 10] });
  }

  const chunk = [{ desc: 'MoveChunk', ns: 'shop.orders' }];
  const database = [{ desc: 'MovePrimaryCoordinator', ns: 'shop' }];
  const collection = [{ ns: 'shop.whole', provenance: 'balancerMoveCollection' }];

  test.each<[string, Document[] | null, Document[] | null, string, boolean]>([
    ['a chunk moves', chunk, [], 'a chunk of shop.orders', true],
    [
      'the config server has a chunk moved',
      [{ command: { _shardsvrMoveRange: 'shop.orders' } }],
      [],
      'a chunk of shop.orders',
      true,
    ],
    ['a database moves', database, [], 'movePrimary of shop', false],
    ['a collection moves', [], collection, 'balancerMoveCollection of shop.whole', false],
    [
      'a series moves',
      [],
      [{ ns: 'shop.system.buckets.s', provenance: 'moveCollection' }],
      'moveCollection of shop.s',
      false,
    ],
    ['a collection is resharded', [], [{ ns: 'shop.orders' }], 'reshardCollection of shop.orders', true],
    [
      'a collection is unsharded',
      [],
      [{ ns: 'shop.orders', provenance: 'unshardCollection' }],
      'unshardCollection of shop.orders',
      true,
    ],
  ])('that is off is busy while %s, by hand too', async (_what, operations, reshardings, description, mustWait) => {
    const state = await readBalancer(off(operations, reshardings), { signal });
    expect(state).toMatchObject({ enabled: false, busy: true, mustWait, moves: [{ description }] });
  });

  test.each([
    ['nothing moves', [], []],
    ['this user may not see what moves', null, null],
  ])('that is off is idle where %s', async (_what, operations, reshardings) => {
    expect(await readBalancer(off(operations, reshardings), { signal })).toEqual({ enabled: false, ...idle });
  });

  test('is waited for no longer than the limit where what moves is followed', async () => {
    const cluster = off(database, collection);
    const since_ms = performance.now();
    expect(await stopBalancer(cluster, { signal, poll_ms: 1, quietLimit_ms: 20 })).toMatchObject({ mustWait: false });
    expect(performance.now() - since_ms).toBeGreaterThanOrEqual(20);
    await expect(
      stopBalancer(off([...database, ...chunk], collection), { signal, poll_ms: 1, quietLimit_ms: 5 }),
    ).rejects.toMatchObject({
      error: 'balancerStillRunning',
      errorDescription: expect.stringContaining('a chunk of shop.orders') as unknown,
    });
  });

  test.each([
    ['off', [{ _id: 'automerge', enabled: false }], true],
    ['on', [], false],
  ])('leaves the AutoMerger as it was: %s', async (_what, firstBatch, wasOff) => {
    const router = new FakeNodeClient('router', (command) =>
      command['find'] === 'settings' ? { cursor: { firstBatch } } : { ok: 1 },
    );
    const cluster = fakeCluster({ router, version: [8, 0, 10] });
    const autoMergerOff = await isAutoMergerOff(cluster, { signal });
    expect(autoMergerOff).toBe(wasOff);
    await restoreBalancer(cluster, { enabled: true, autoMergerOff }, { signal });
    const last = router.sent.at(-1)?.command ?? {};
    if (wasOff) expect(last).toMatchObject({ update: 'settings', updates: [{ u: { $set: { enabled: false } } }] });
    else expect(last).toMatchObject({ balancerStart: 1 });
  });

  test('does not exist in a replica set', async () => {
    const { cluster, client } = balancer({ mode: 'full', roundsLeft: 0 });
    const replicaSet = { ...cluster, kind: 'replicaSet' as const };
    expect(await readBalancer(replicaSet, { signal })).toBeNull();
    expect(await stopBalancer(replicaSet, { signal })).toBeNull();
    expect(client.sent).toEqual([]);
  });
});
