import { optionsDigest } from '@convoy/api/contract/options-digest';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import { recordMigration } from '../../../../src/lifecycle/instance/record-migration.js';
import { createRuntime } from '../../../../src/lifecycle/migration/runtime.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { never } from '../../model/parts.js';
import { Fixture, requestOf } from '../../preflight/fixture.js';

const verified = requestOf({}, { verification: { enabled: true } });

/** Keeps the published findings of preflight. */
class WatchedFleet extends LoneFleet {
  readonly preflights: PublishedDetails['preflight'][] = [];

  override publishDetails<Topic extends DetailTopic>(topic?: Topic, content?: PublishedDetails[Topic]): void {
    if (topic === 'preflight' && content !== undefined && 'items' in content) this.preflights.push(content);
  }
}

/** An instance takes a start that a peer records while it checks the clusters. */
async function startBesidePeer(fixture: Fixture, request: StartRequest, memoryBytesMax = 256 * 2 ** 20) {
  const clusters = fixture.clusters();
  fixture.destinationServer.add('convoy_metadata.migration', { documents: [recordOf(request, clusters)] });
  const config = { ...parseInstanceConfig({ flags: { cluster0: 'mongodb://a', cluster1: 'mongodb://b' } }) };
  const logger = createLogger({ verbosity: 'FATAL' });
  const fleet = new WatchedFleet();
  const taken = recordMigration({
    runtime: createRuntime({ ...config, memoryBytesMax }, systemClock, logger, new Metrics({ processMetrics: false })),
    fleet,
    release: '2.0.0',
    connect: () => Promise.reject(new Error('nothing else is connected')),
    request,
    ...clusters,
    recorded: null,
    signal: never,
  });
  const [result] = await Promise.allSettled([taken]);
  return { result, preflights: fleet.preflights };
}

function recordOf(request: StartRequest, { source, destination }: ReturnType<Fixture['clusters']>): Document {
  return {
    _id: 'migration',
    release: '2.0.0',
    options: request,
    digest: optionsDigest(request),
    phase: 'starting',
    failure: null,
    source: { name: source.name, clusterId: source.clusterId },
    destination: { name: destination.name, clusterId: destination.clusterId },
    access: source.access,
    taskIds: [...source.shardIds],
    warnings: [],
    reversal: null,
  };
}

describe('an instance whose peer records the migration while it checks the clusters', () => {
  it('joins it, and leaves no refusal for watchers', async () => {
    const { result, preflights } = await startBesidePeer(new Fixture(), requestOf());
    expect(result).toMatchObject({ status: 'fulfilled', value: { phase: 'starting' } });
    expect(preflights.filter(({ items }) => items.length > 0)).toEqual([]);
  });

  it('refuses what it has found on the source', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.series', { type: 'timeseries' });
    const { result, preflights } = await startBesidePeer(fixture, requestOf());
    expect(result).toMatchObject({ status: 'rejected', reason: { error: 'timeSeriesNotSupported' } });
    expect(preflights.at(-1)?.items.at(-1)).toMatchObject({ error: 'timeSeriesNotSupported' });
  });

  it('refuses a migration that its own memory cannot verify', async () => {
    const { result, preflights } = await startBesidePeer(new Fixture(), verified, 64 * 2 ** 20);
    expect(result).toMatchObject({ status: 'rejected', reason: { error: 'verificationMemoryInsufficient' } });
    expect(preflights.at(-1)?.canStart).toBe(false);
  });
});
