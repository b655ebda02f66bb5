import type { Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { readBalancer, restoreBalancer, stopBalancer } from '../../../src/cluster/balancer.js';
import { FakeNodeClient, fakeCluster } from '../fake-node-client.js';

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
    await restoreBalancer(cluster, { enabled: true, busy: true }, { signal });
    expect(state.mode).toBe('full');
  });

  test('that was off stays off', async () => {
    const { cluster, client } = balancer({ mode: 'off', roundsLeft: 0 });
    const before = await stopBalancer(cluster, { signal, poll_ms: 1 });
    await restoreBalancer(cluster, before, { signal });
    expect(before).toEqual({ enabled: false, busy: false });
    expect(client.sent.some(({ command }) => 'balancerStart' in command)).toBe(false);
  });

  test('that does not stop in time is a named failure', async () => {
    const { cluster } = balancer({ mode: 'full', roundsLeft: Infinity });
    const error = await stopBalancer(cluster, { signal, poll_ms: 1, quietLimit_ms: 5 }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as ConvoyError).error).toBe('balancerStillRunning');
  });

  test('does not exist in a replica set', async () => {
    const { cluster, client } = balancer({ mode: 'full', roundsLeft: 0 });
    const replicaSet = { ...cluster, kind: 'replicaSet' as const };
    expect(await readBalancer(replicaSet, { signal })).toBeNull();
    expect(await stopBalancer(replicaSet, { signal })).toBeNull();
    expect(client.sent).toEqual([]);
  });
});
