import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { Document } from 'mongodb';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import type { ClusterName, Connect } from '../../../../src/lifecycle/migration/clusters.js';
import { createRuntime } from '../../../../src/lifecycle/migration/runtime.js';
import { SyncInstance } from '../../../../src/lifecycle/instance/sync-instance.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';

const release = '2.0.0';
const [zero, one] = [
  { name: 'cluster0', clusterId: '00' },
  { name: 'cluster1', clusterId: '01' },
];
const committed = { release, phase: 'committed', failure: null, source: zero, destination: one };

const identity = { id: 'single', syncID: 'single', incarnation: 'a', release };

/** Keeps what the instance publishes for watchers. */
class WatchedFleet extends LoneFleet {
  readonly details: Partial<PublishedDetails> = {};
  lastReport: InstanceReport | null = null;

  override report(report: InstanceReport): void {
    this.lastReport = report;
  }

  override publishDetails<Topic extends DetailTopic>(topic?: Topic, content?: PublishedDetails[Topic]): void {
    if (topic !== undefined && content !== undefined) this.details[topic] = content;
  }
}

async function instanceOf(
  connect: Connect,
  fleet: LoneFleet,
  metrics = new Metrics({ processMetrics: false }),
): Promise<SyncInstance> {
  const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://zero', cluster1: 'mongodb://one' } });
  const logger = createLogger({ verbosity: 'FATAL' });
  const runtime = createRuntime(config, systemClock, logger, metrics);
  await fleet.join(identity);
  return new SyncInstance(runtime, fleet, identity, connect);
}

/** A cluster whose metadata answers from the list, then with nothing. */
function clusterWith(name: ClusterName, found: Document[]): ReturnType<Connect> {
  const router = new FakeNodeClient(name, { find: () => ({ cursor: { firstBatch: found.splice(0, 1) } }) });
  return Promise.resolve(fakeCluster({ router, ...(name === 'cluster0' ? zero : one) }));
}

it('an instance that began without a cluster takes a start towards it, once the migration was cleaned up', async () => {
  /** What each read of the record finds; cleaned up after the first. */
  const found: Record<ClusterName, Document[]> = { cluster0: [committed], cluster1: [committed] };
  let isBack = false;
  const connect: Connect = (_config, name) =>
    name === 'cluster0' && !isBack ? Promise.reject(new Error('away')) : clusterWith(name, found[name]);
  const instance = await instanceOf(connect, new LoneFleet());
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

it('the metrics of an instance count the messages that its fleet refuses', async () => {
  class AttackedFleet extends LoneFleet {
    refusedMessages(): ReadonlyMap<string, number> {
      return new Map([['unsigned', 3]]);
    }
  }
  const metrics = new Metrics({ processMetrics: false });
  const instance = await instanceOf((_config, name) => clusterWith(name, []), new AttackedFleet(), metrics);
  try {
    await instance.open();
    expect(await metrics.registry.metrics()).toContain('convoy_refused_messages_total{reason="unsigned"} 3');
  } finally {
    await instance.close();
  }
});

describe('an instance that opens', () => {
  it('reports at once that it takes commands, since coordinators send none to one that initialises', async () => {
    const fleet = new WatchedFleet();
    const instance = await instanceOf((_config, name) => clusterWith(name, []), fleet);
    try {
      await instance.open();
      expect(fleet.lastReport?.state).toBe('IDLE');
    } finally {
      await instance.close();
    }
  });

  it('without a migration on record replaces what an earlier one has left for watchers', async () => {
    const fleet = new WatchedFleet();
    const instance = await instanceOf((_config, name) => clusterWith(name, []), fleet);
    try {
      await instance.open();
      expect(fleet.details).toMatchObject({
        namespaces: { rows: [], others: { collections: 0 } },
        history: { points: [], timeline: [] },
        preflight: { items: [] },
      });
    } finally {
      await instance.close();
    }
  });
});
