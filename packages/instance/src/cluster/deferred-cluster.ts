import { setMaxListeners } from 'node:events';
import type {
  CallOptions,
  ClusterClient,
  NodeClient,
  RawCursor,
  RawWrite,
  WriteOutcome,
  WriteTicket,
} from './node-client.js';
import { callsParallelMax, untilAborted } from '../async/clock.js';

/** What Convoy knows of a cluster before it connects. */
type KnownCluster = Pick<ClusterClient, 'name' | 'clusterId' | 'displayHost' | 'access' | 'shardIds'>;

type Connect = (signal: AbortSignal) => Promise<ClusterClient>;

/**
 * Connects to a cluster at the first call, and tries again at each call while that fails. It serves processes that
 * start after the commit, when the user may have removed the former source. Until it has connected, `kind`, `version`
 * and `newerBinary` throw.
 */
export class DeferredCluster implements ClusterClient {
  readonly name: string;
  readonly clusterId: string;
  readonly displayHost: string;
  readonly access: ClusterClient['access'];
  readonly shardIds: readonly string[];
  readonly router: NodeClient;
  readonly #closing = new AbortController();
  #connecting: Promise<ClusterClient> | null = null;
  #connectedTo: ClusterClient | null = null;

  /** @param connect makes one attempt, without retries */
  constructor(
    known: KnownCluster,
    private readonly connect: Connect,
  ) {
    ({
      name: this.name,
      clusterId: this.clusterId,
      displayHost: this.displayHost,
      access: this.access,
      shardIds: this.shardIds,
    } = known);
    setMaxListeners(callsParallelMax, this.#closing.signal);
    this.router = this.#client('router', ({ router }) => router);
  }

  get kind(): ClusterClient['kind'] {
    return this.#connected.kind;
  }

  get version(): ClusterClient['version'] {
    return this.#connected.version;
  }

  /** The version itself where the binary is no newer: a getter cannot be left out. */
  get newerBinary(): ClusterClient['version'] {
    const { newerBinary, version } = this.#connected;
    return newerBinary ?? version;
  }

  shard(id: string): NodeClient {
    return this.#client(id, (cluster) => cluster.shard(id));
  }

  taskClient(id: string): NodeClient {
    return this.#client(`task ${id}`, (cluster) => cluster.taskClient(id));
  }

  /**
   * Connects, so that `kind` and `version` are known.
   * @throws what connecting throws
   */
  async reach(signal: AbortSignal): Promise<void> {
    await this.#open(signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const cluster = await this.#connecting?.catch(() => null);
    await cluster?.close();
  }

  get #connected(): ClusterClient {
    if (this.#connectedTo === null) throw new Error(`Convoy has not connected to ${this.name} yet`);
    return this.#connectedTo;
  }

  #client(role: string, select: (cluster: ClusterClient) => NodeClient): NodeClient {
    return new DeferredNodeClient(`${this.name} ${role}`, async (signal) => select(await this.#open(signal)));
  }

  /** Concurrent calls share one attempt. Aborting a call does not end the attempt. */
  async #open(signal: AbortSignal): Promise<ClusterClient> {
    signal.throwIfAborted();
    this.#connecting ??= this.#try();
    return untilAborted(this.#connecting, signal);
  }

  async #try(): Promise<ClusterClient> {
    try {
      this.#closing.signal.throwIfAborted();
      this.#connectedTo = await this.connect(this.#closing.signal);
      return this.#connectedTo;
    } catch (error) {
      this.#connecting = null;
      throw error;
    }
  }
}

/**
 * Makes `kind` and `version` of a cluster known before anything reads them: one that connects late connects now.
 * @throws what connecting throws
 */
export async function ensureReached(cluster: ClusterClient, signal: AbortSignal): Promise<void> {
  if (cluster instanceof DeferredCluster) await cluster.reach(signal);
}

class DeferredNodeClient implements NodeClient {
  constructor(
    readonly label: string,
    private readonly open: (signal: AbortSignal) => Promise<NodeClient>,
  ) {}

  async command(...[database, command, options]: Parameters<NodeClient['command']>): ReturnType<NodeClient['command']> {
    return (await this.open(options.signal)).command(database, command, options);
  }

  async openCursor(...[database, command, options]: Parameters<NodeClient['openCursor']>): Promise<RawCursor> {
    return (await this.open(options.signal)).openCursor(database, command, options);
  }

  async write(write: RawWrite, ticket: WriteTicket | null, options: CallOptions): Promise<WriteOutcome> {
    return (await this.open(options.signal)).write(write, ticket, options);
  }

  /** Does nothing: `DeferredCluster.close` closes the real client. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
