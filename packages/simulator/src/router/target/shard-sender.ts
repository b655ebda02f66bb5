import type { Timestamp } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import type { Doc } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { internalRequest } from '../../node/internal-request.js';
import type { RouterTransactions } from '../router-transactions.js';
import { ShardOwnership } from './shard-ownership.js';

export interface SendOptions {
  readonly db?: string;
  readonly sequences?: ReadonlyMap<string, Uint8Array[]>;
  /** Cluster time of a snapshot read. */
  readonly time?: Timestamp | undefined;
}

/** Fields of a client's command that go along to the shards. */
const carried = ['lsid', 'txnNumber', 'startTransaction', 'autocommit'];

/** Sends commands from a router to its shards. */
export class ShardSender {
  constructor(
    private readonly catalog: ShardingCatalog,
    private readonly transactions: RouterTransactions,
  ) {}

  /** @param request the client's command, whose connection, signal, session and transaction go along */
  run(shard: ClusterShard, request: CommandRequest, body: Doc, options: SendOptions = {}): Promise<Doc> {
    let sent = new Map(body);
    for (const name of carried) {
      const value = request.body.get(name);
      if (value !== undefined && !sent.has(name)) sent.set(name, value);
    }
    sent = this.transactions.joined(shard.id, sent);
    return shard.node.run(
      internalRequest(options.db ?? request.db, sent, {
        connection: request.connection,
        signal: request.signal,
        sequences: options.sequences ?? new Map(),
        routed: new ShardOwnership(this.catalog, shard, options.time),
      }),
    );
  }

  /** Sends the same command to several shards, one after the other; stops at the first failure. */
  async runOnAll(shards: readonly ClusterShard[], request: CommandRequest, body: Doc, options: SendOptions = {}): Promise<Map<ClusterShard, Doc>> {
    const replies = new Map<ClusterShard, Doc>();
    for (const shard of shards) replies.set(shard, await this.run(shard, request, body, options));
    return replies;
  }
}
