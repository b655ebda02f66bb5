import type { Timestamp } from 'bson';
import { Deployment } from '../../../src/node/deployment.js';
import { ServerVersion, type ReleaseSeries } from '../../../src/node/server-version.js';
import type { ShardStream } from '../../../src/shard/change-stream/shard-stream.js';
import type { ShardNodeOptions } from '../../../src/shard/shard-state.js';
import { long, ShardFixture } from './shard-fixture.js';
import { streamStage } from './change-stream/stream-stage.js';

export { failureOf, plain } from './shard-fixture.js';

/** A cursor of a stream under test. */
interface OpenedStream {
  /** The events of the next batch, as JSON. */
  more(): Promise<unknown[]>;
}

/** A shard of a release under test. */
export class VersionedShard extends ShardFixture {
  constructor(series: ReleaseSeries, options: Partial<ShardNodeOptions> = {}) {
    super({ deployment: new Deployment(ServerVersion.parse(series)), ...options });
  }

  stream(from: Timestamp): ShardStream {
    const stage = streamStage({ showExpandedEvents: true });
    return this.shard.access.openStream({
      scope: { kind: 'cluster' },
      start: { kind: 'time', clusterTime: from },
      stage,
      merged: false,
      pipeline: [],
    });
  }

  /** @param batchSize of the first batch, whose events are left out */
  async opened(db: string, pipeline: Record<string, unknown>[], batchSize = 0): Promise<OpenedStream> {
    const reply = await this.json(db, { aggregate: 1, pipeline, cursor: { batchSize } });
    const { id } = reply['cursor'] as { id: { $numberLong: string } };
    return {
      more: async () => {
        const next = await this.json(db, {
          getMore: long(BigInt(id.$numberLong)),
          collection: '$cmd.aggregate',
          maxTimeMS: 1,
        });
        return (next['cursor'] as { nextBatch: unknown[] }).nextBatch;
      },
    };
  }
}
