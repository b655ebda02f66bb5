import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/cluster/clock.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import type { ClusterName, Connect } from '../../../src/lifecycle/migration/clusters.js';
import { createRuntime } from '../../../src/lifecycle/migration/runtime.js';
import { SyncInstance } from '../../../src/lifecycle/sync-instance.js';
import { createLogger } from '../../../src/logging/logger.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { FakeNodeClient, fakeCluster } from '../fake-node-client.js';

const release = '2.0.0';
const [zero, one] = [
  { name: 'cluster0', clusterId: '00' },
  { name: 'cluster1', clusterId: '01' },
];
const committed = { release, phase: 'committed', failure: null, source: zero, destination: one };

it('an instance that began without a cluster takes a start towards it, once the migration was cleaned up', async () => {
  const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://zero', cluster1: 'mongodb://one' } });
  const runtime = createRuntime(
    config,
    systemClock,
    createLogger({ verbosity: 'FATAL' }),
    new Metrics({ processMetrics: false }),
  );
  const identity = { id: 'single', syncID: 'single', incarnation: 'a', release };
  const fleet = new LoneFleet();
  await fleet.join(identity);
  /** What each read of the record finds; cleaned up after the first. */
  const found: Record<ClusterName, Document[]> = { cluster0: [committed], cluster1: [committed] };
  let isBack = false;
  const connect: Connect = (_config, name) => {
    if (name === 'cluster0' && !isBack) return Promise.reject(new Error('away'));
    const router = new FakeNodeClient(name, { find: () => ({ cursor: { firstBatch: found[name].splice(0, 1) } }) });
    return Promise.resolve(fakeCluster({ router, ...(name === 'cluster0' ? zero : one) }));
  };
  const instance = new SyncInstance(runtime, fleet, identity, connect);
  try {
    await instance.open();
    expect(instance.state).toBe('IDLE');
    isBack = true;
    const start = parseStartRequest({ source: 'cluster1', destination: 'cluster0', verification: { enabled: false } });
    await expect(instance.start(start), 'refused by what it finds there').rejects.toMatchObject({
      error: 'migrationExists',
    });
  } finally {
    await instance.close();
  }
});
