import { Timestamp } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import type { Doc } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { internalRequest } from '../../node/internal-request.js';
import type { RouterTransactions } from '../router-transactions.js';
import type { RoutingPicture } from './routing-table.js';
import { ShardOwnership } from './shard-ownership.js';

export interface SendOptions {
  readonly db?: string;
  readonly sequences?: ReadonlyMap<string, Uint8Array[]>;
  /** Cluster time of a snapshot read. */
  readonly time?: Timestamp | undefined;
  /**
   * The basis on which the shard was chosen. A shard that knows better refuses. Undefined for commands that go to a
   * shard whatever it owns.
   */
  readonly picture?: RoutingPicture | undefined;
  /**
   * True for commands that a router runs on several shards at once: none of them knows the times that the others issue.
   */
  readonly atOnce?: boolean;
}

/** Fields of a client's command that go along to the shards. */
const carried = ['lsid', 'txnNumber', 'startTransaction', 'autocommit'];

/** Sends commands from a router to its shards. */
export class ShardSender {
  constructor(
    private readonly catalog: ShardingCatalog,
    private readonly transactions: RouterTransactions,
  ) {}

  /** @param request the client's command, whose connection, signal, session and transaction go to the shards */
  run(shard: ClusterShard, request: CommandRequest, body: Doc, options: SendOptions = {}): Promise<Doc> {
    let sent = new Map(body);
    for (const name of carried) {
      const value = request.body.get(name);
      if (value !== undefined && !sent.has(name)) sent.set(name, value);
    }
    const transaction = sent.get('autocommit') === false ? this.transactions.of(sent) : undefined;
    sent = this.transactions.joined(shard.id, sent);
    const at = transaction?.readConcern?.get('atClusterTime');
    const { time, picture } = options;
    if (options.atOnce !== true) this.catalog.clock.announce();
    const reply = shard.node.run(
      internalRequest(options.db ?? request.db, sent, {
        connection: request.connection,
        signal: request.signal,
        sequences: options.sequences ?? new Map(),
        routed: new ShardOwnership(this.catalog, shard, {
          time,
          picture,
          transactionTime: at instanceof Timestamp ? at : undefined,
        }),
      }),
    );
    return transaction === undefined ? reply : this.#noted(shard.id, sent, reply);
  }

  /** Records the state that a participant of a transaction reports. */
  async #noted(shard: string, sent: Doc, answer: Promise<Doc>): Promise<Doc> {
    const reply = await answer;
    this.transactions.of(sent)?.noteReply(shard, reply.get('readOnly') !== false);
    reply.delete('readOnly');
    return reply;
  }

  /** @throws CommandError 13388 or 249 when a shard reports that the routing is stale */
  refuseStale(shard: ClusterShard, picture: RoutingPicture | undefined): void {
    new ShardOwnership(this.catalog, shard, { picture }).refuseStale();
  }

  /** Sends the same command to several shards at once: a failure of one does not stop the others. */
  async runOnEach(
    shards: readonly ClusterShard[],
    request: CommandRequest,
    body: Doc,
    options: SendOptions = {},
  ): Promise<Doc[]> {
    const answers: PromiseSettledResult<Doc>[] = [];
    for (const shard of shards) answers.push(...(await Promise.allSettled([this.run(shard, request, body, options)])));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /** Sends the same command to several shards, one after the other. Stops at the first failure. */
  async runOnAll(
    shards: readonly ClusterShard[],
    request: CommandRequest,
    body: Doc,
    options: SendOptions = {},
  ): Promise<Map<ClusterShard, Doc>> {
    const replies = new Map<ClusterShard, Doc>();
    for (const shard of shards) replies.set(shard, await this.run(shard, request, body, options));
    return replies;
  }
}
