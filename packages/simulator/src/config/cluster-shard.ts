import type { Timestamp } from 'bson';
import { ConfigStore } from './config-store.js';
import type { CommandNode } from '../node/command.js';
import type { ShardAccess } from '../shard/shard-access.js';

/** A shard as a member of the cluster. */
export class ClusterShard {
  /** Names of the zones it belongs to. */
  readonly zones = new Set<string>();
  /** Collections that may hold documents which belong to another shard, with the number of ranges not cleaned up. */
  readonly orphanRanges = new Map<string, number>();

  /** The shard's own `config` database. */
  readonly cache: ConfigStore;

  constructor(
    readonly id: string,
    /** `setName/host:port`, as `listShards` shows it. */
    readonly connectionString: string,
    readonly host: string,
    readonly node: CommandNode,
    readonly access: ShardAccess,
    readonly addedAt: Timestamp,
  ) {
    this.cache = new ConfigStore(node);
  }

  dataBytes(): number {
    let bytes = 0;
    for (const db of this.access.databaseNames()) {
      for (const collection of this.access.collectionsOf(db)) bytes += collection.documentBytes;
    }
    return bytes;
  }
}
