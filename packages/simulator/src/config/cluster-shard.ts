import type { Timestamp } from 'bson';
import type { ShardAccess } from '../shard/shard-access.js';
import type { ShardStream, ShardStreamOptions } from '../shard/change-stream/shard-stream.js';
import type { ShardNode } from '../shard/shard-node.js';
import { ConfigStore } from './config-store.js';
import type { ShardedCollection } from './sharded-collection.js';
import type { MemberLink } from './member-link.js';

/** Where a shard is found. */
export interface ShardAddress {
  /** `setName/host:port`, as `listShards` shows it. */
  readonly connectionString: string;
  readonly host: string;
}

/** A shard as a member of the cluster. */
export class ClusterShard {
  readonly connectionString: string;
  readonly host: string;
  /** Names of the zones it belongs to. */
  readonly zones = new Set<string>();
  /** Ranges that were given away and are not cleaned up, by the collection's UUID, which survives a rename. */
  readonly #orphanRanges = new Map<string, number>();
  /** True while its chunks move away before its removal. */
  draining = false;

  /** The shard's own `config` database. */
  readonly cache: ConfigStore;

  constructor(
    readonly id: string,
    address: ShardAddress,
    /** Commands from the other nodes of the cluster go through it. */
    readonly node: MemberLink,
    /** Its member, whether or not its process runs. */
    readonly member: ShardNode,
    readonly addedAt: Timestamp,
    /** Whether the cleanup of orphans waits (fail point `suspendRangeDeletion`). */
    readonly suspended: () => boolean,
    /** Whether commits hang (fail point `hangBeforeCommitingTxn`). */
    readonly holdsCommits: () => boolean,
    /**
     * Whether it answers commits that it coordinates once they are decided
     * (`coordinateCommitReturnImmediatelyAfterPersistingDecision`).
     */
    readonly answersAtDecision: () => boolean,
  ) {
    this.connectionString = address.connectionString;
    this.host = address.host;
    this.cache = new ConfigStore(member);
  }

  /** The stored data of its member. */
  get stored(): ShardAccess {
    return this.member.access;
  }

  /** @throws CommandError 6 while its process does not run */
  get access(): ShardAccess {
    this.node.refuseStopped();
    return this.stored;
  }

  /** Opens a change stream for merging, which ends with the shard's process. */
  openStream(options: ShardStreamOptions): ShardStream {
    return this.node.guarded(this.access.openStream(options));
  }

  /** Records a range of a collection that was given away and whose documents still exist. */
  noteOrphans({ uuid }: ShardedCollection): void {
    const id = uuid.toString('hex');
    this.#orphanRanges.set(id, (this.#orphanRanges.get(id) ?? 0) + 1);
  }

  /** Records the cleanup of such a range. */
  noteCleaned({ uuid }: ShardedCollection): void {
    const id = uuid.toString('hex');
    const left = (this.#orphanRanges.get(id) ?? 1) - 1;
    if (left > 0) this.#orphanRanges.set(id, left);
    else this.#orphanRanges.delete(id);
  }

  /** False when the shard owns every document that it has of a collection. */
  mayHaveOrphans({ uuid }: ShardedCollection): boolean {
    return this.#orphanRanges.size > 0 && this.#orphanRanges.has(uuid.toString('hex'));
  }

  dataBytes(): number {
    let bytes = 0;
    for (const db of this.stored.databaseNames()) {
      for (const collection of this.stored.collectionsOf(db)) bytes += collection.documentBytes;
    }
    return bytes;
  }
}
