import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, describe, expect, it } from 'vitest';
import { stopBalancers } from '../../../../src/lifecycle/leader/initialise.js';
import type { MigrationPhase, MigrationRecord } from '../../../../src/store/migration-record.js';
import { FakeNodeClient, fakeCluster } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { recordWith, viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';

let modes: { source: string; destination: string };
let recorded: MigrationRecord['balancers'];

beforeEach(() => {
  [modes, recorded] = [{ source: 'full', destination: 'off' }, null];
});

function cluster(side: keyof typeof modes) {
  const set = (mode: string) => () => {
    modes[side] = mode;
    return { ok: 1 };
  };
  const find = () => ({ cursor: { firstBatch: [] } });
  const router = new FakeNodeClient(side, {
    balancerStatus: () => ({ mode: modes[side], inBalancerRound: false }),
    balancerStop: set('off'),
    balancerStart: set('full'),
    find,
  });
  return fakeCluster({ router, shardIds: ['a'] });
}

/** @param phase the migration's when the balancers are stopped; null once it was cleaned up */
async function stop(phase: MigrationPhase | null): Promise<void> {
  const records = {
    read: () => Promise.resolve(phase === null ? null : recordWith({ phase })),
    updateAsLeader: (_epoch: number, set: Partial<MigrationRecord>) =>
      Promise.resolve(void (recorded = set.balancers ?? null)),
    confirmLeader: () => (phase === 'starting' ? Promise.resolve() : Promise.reject(new ConvoyError('staleEpoch'))),
  };
  const deps = depsWith({
    leaderEpoch: 1,
    runtime: { retrying: once },
    source: cluster('source'),
    destination: cluster('destination'),
    records,
    watch: { view: viewWith() },
  });
  await stopBalancers(deps, never);
}

describe('stopping the balancers', () => {
  it('records their states', async () => {
    await stop('starting');
    expect(modes).toEqual({ source: 'off', destination: 'off' });
    expect(recorded).toEqual({ source: true, destination: false });
  });

  it.each(['opening', 'committed', null] as const)(
    'leaves none off behind a leader that thaws when the migration is %s',
    async (phase) => {
      await expect(stop(phase)).rejects.toMatchObject({ error: 'staleEpoch' });
      expect(modes).toEqual({ source: 'full', destination: 'off' });
    },
  );

  it('ends a leader that was replaced meanwhile', async () => {
    await expect(stop('syncing')).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(modes.source).toBe('off');
  });
});
