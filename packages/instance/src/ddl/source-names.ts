import { listCollections } from '../catalog/list-namespaces.js';
import { readCollectionByUuid } from '../catalog/read-catalog.js';
import { isShardedAs, isUnsplittable } from '../catalog/read-sharding.js';
import { timeAboveAll } from '../cluster/cluster-time.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { Retrying } from '../async/retry.js';
import type { FollowedCollection } from './followed-collections.js';

/** The names that the source's collections have now, and the source's time, for changes that streams show in part. */
export class SourceNames {
  constructor(
    private readonly source: ClusterClient,
    private readonly retrying: Retrying,
  ) {}

  /** Whether the catalog no longer shows a collection under a name. */
  async hasLeft({ database, name, uuid }: FollowedCollection, signal: AbortSignal): Promise<boolean> {
    const found = await this.retrying(
      'read a collection of the source',
      () => readCollectionByUuid(this.source, database, uuid, signal),
      signal,
    );
    if (found?.name === name) return false;
    return !(await this.retrying(
      'read a sharded collection of the source',
      () => isShardedAs(this.source, `${database}.${name}`, uuid, signal),
      signal,
    ));
  }

  /** Names of the collections that a database has now, by UUID. */
  async namesOf(database: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const listed = await this.retrying(
      'list collections of the source',
      () => listCollections(this.source.router, database, signal),
      signal,
    );
    return new Map(listed.map(({ uuid, name }) => [uuid, name]));
  }

  /** Whether the cluster lists the collection with a UUID as one that is not sharded (8.0). */
  isUnsharded(uuid: string, signal: AbortSignal): Promise<boolean> {
    return this.retrying(
      'read a moved collection of the source',
      () => isUnsplittable(this.source, uuid, signal),
      signal,
    );
  }

  /** A cluster time above everything done on the source so far. */
  timeAboveAll(signal: AbortSignal): Promise<bigint> {
    return this.retrying('take a time of the source', () => timeAboveAll(this.source, { signal }), signal);
  }
}
