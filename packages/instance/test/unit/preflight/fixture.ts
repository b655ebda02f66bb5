import { normaliseStartRequest } from '@convoy/api/contract/normalise-start-request';
import { type StartRequest, type StartRequestBody, startRequestSchema } from '@convoy/api/contract/start-request';
import { BSON, type Document } from 'mongodb';
import { systemClock } from '../../../src/async/clock.js';
import type { ClusterClient, NodeClient } from '../../../src/cluster/node-client.js';
import { checkJoin, checkStart, reportStart } from '../../../src/preflight/check-start.js';
import type { PreflightReport } from '../../../src/preflight/examination.js';
import { FakeCatalogServer } from '../catalog/fake-catalog-server.js';
import { fakeCluster, FakeNodeClient, type Handler } from '../fake-node-client.js';

const { signal } = new AbortController();
/** Does not wait. */
const clock = { ...systemClock, sleep: () => Promise.resolve() };

/** A valid request, verification off; options that the API itself would refuse are applied afterwards. */
export function requestOf(body: Partial<StartRequestBody> = {}, raw: Partial<StartRequest> = {}): StartRequest {
  const parsed = startRequestSchema.parse({
    source: 'cluster0',
    destination: 'cluster1',
    verification: { enabled: false },
    ...body,
  });
  return { ...normaliseStartRequest(parsed), ...raw };
}

export class Fixture {
  readonly sourceServer = new FakeCatalogServer(['shard0', 'shard1']);
  readonly destinationServer = new FakeCatalogServer(['a', 'b']);
  /** The oplog of each source shard; an error is thrown instead. */
  oplog: { covered_seconds: number; size: number; maxSize: number } | Error = {
    covered_seconds: 10 * 3600,
    size: 100,
    maxSize: 100,
  };
  /** The reply of `connectionStatus` on each of the source's shards; at first nobody is logged in. */
  shardAuthInfo: Document = { authenticatedUsers: [] };
  /** Indexes that single shards of the source show instead of the cluster's. */
  readonly shardIndexes = new Map<string, Document[]>();
  /** What shards answer to `listIndexes` instead. */
  refusedIndexes: Error | null = null;
  source: Partial<ClusterClient> = {};
  destination: Partial<ClusterClient> = {};

  clusters(): { source: ClusterClient; destination: ClusterClient } {
    this.sourceServer.featureVersion = featureVersionOf(this.source, this.sourceServer.featureVersion);
    this.destinationServer.featureVersion = featureVersionOf(this.destination, this.destinationServer.featureVersion);
    return {
      source: fakeCluster({ router: this.sourceServer.client, shards: this.shardClients(), ...this.source }),
      destination: fakeCluster({
        router: this.destinationServer.client,
        name: 'cluster1',
        clusterId: '0b',
        shardIds: ['a', 'b'],
        ...this.destination,
      }),
    };
  }

  check(request: StartRequest = requestOf(), more: { syncUser?: string; memoryBytesMax?: number } = {}) {
    return checkStart({ ...this.clusters(), request, signal, clock, ...more });
  }

  /** The check of an instance that joins. */
  join(request: StartRequest = requestOf(), more: { syncUser?: string; memoryBytesMax?: number } = {}): Promise<void> {
    return checkJoin({ ...this.clusters(), request, signal, clock, ...more });
  }

  report(
    request: StartRequest = requestOf(),
    more: { memoryBytesMax?: number; openNextSource?: () => Promise<ClusterClient> } = {},
  ): Promise<PreflightReport> {
    return reportStart({ ...this.clusters(), request, signal, clock, ...more });
  }

  private shardClients(): Map<string, NodeClient> {
    const shardIds = this.source.shardIds ?? ['shard0', 'shard1'];
    return new Map(
      shardIds.map((id) => [
        id,
        new FakeNodeClient(id, {
          find: (_, command) => this.oplogEdge(command),
          aggregate: () => this.oplogSize(),
          connectionStatus: () => ({ authInfo: this.shardAuthInfo }),
          listIndexes: this.listIndexes(id),
        }),
      ]),
    );
  }

  private listIndexes(shard: string): Handler {
    const refused = this.refusedIndexes;
    if (refused !== null)
      return () => {
        throw refused;
      };
    const firstBatch = this.shardIndexes.get(shard);
    return firstBatch === undefined
      ? this.sourceServer.client.handlerOf('listIndexes')
      : () => ({ cursor: { firstBatch } });
  }

  private oplogEdge({ sort }: Document): Document {
    if (this.oplog instanceof Error) throw this.oplog;
    const t = 1_700_000_000 + ((sort as Document).$natural === 1 ? 0 : this.oplog.covered_seconds);
    return { cursor: { firstBatch: [{ ts: new BSON.Timestamp({ t, i: 1 }) }] } };
  }

  private oplogSize(): Document {
    if (this.oplog instanceof Error) throw this.oplog;
    const { size, maxSize } = this.oplog;
    return { cursor: { firstBatch: [{ storageStats: { size, maxSize } }] } };
  }
}

/** By default, the version of the release. */
function featureVersionOf(
  { version: [major, minor] = [5, 0, 7] }: Partial<ClusterClient>,
  set: Document | null | undefined,
): Document | null {
  return set === undefined ? { _id: 'featureCompatibilityVersion', version: `${major}.${minor}` } : set;
}
