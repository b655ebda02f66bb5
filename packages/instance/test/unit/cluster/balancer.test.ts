import type { Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { isAutoMergerOff, readBalancer, restoreBalancer, stopBalancer } from '../../../src/cluster/balancer.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';

const signal = new AbortController().signal;

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
    expect(await stopBalancer(cluster, { signal, poll_ms: 1 })).toEqual({ enabled: true, busy: true });
    expect(state.mode).toBe('off');
    expect(state.migrations).toBeLessThan(0);
    await restoreBalancer(cluster, { enabled: true }, { signal });
    expect(state.mode).toBe('full');
  });

  test('that was off stays off', async () => {
    const { cluster, client } = balancer({ mode: 'off', roundsLeft: 0 });
    const before = await stopBalancer(cluster, { signal, poll_ms: 1 });
    await restoreBalancer(cluster, before, { signal });
    expect(before).toEqual({ enabled: false, busy: false });
    expect(client.sent.some(({ command }) => 'balancerStart' in command || 'balancerStop' in command)).toBe(false);
  });

  test('that does not stop in time is a named failure', async () => {
    const { cluster } = balancer({ mode: 'full', roundsLeft: Infinity });
    const error = await stopBalancer(cluster, { signal, poll_ms: 1, quietLimit_ms: 5 }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as ConvoyError).error).toBe('balancerStillRunning');
  });

  test.each([
    ['shown by the shards', [{ desc: 'MoveChunk' }], true],
    ['not shown', [], false],
    ['not shown to this user', null, false],
  ])('of 8.0 is busy while a move by hand is %s', async (_what, operations, busy) => {
    const { client } = balancer({ mode: 'off', roundsLeft: 0 });
    const of8 = new FakeNodeClient('router', (command) => {
      if (!('aggregate' in command)) return client.handlerOf('')('', command, command);
      if (operations === null) throw serverError(13, 'Unauthorized');
      return { cursor: { firstBatch: operations } };
    });
    const cluster = fakeCluster({ router: of8, version: [8, 0, 10] });
    expect(await readBalancer(cluster, { signal })).toEqual({ enabled: false, busy });
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
