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
import { callsParallelMax, untilAborted } from './within.js';

/** What is known of a cluster before Convoy connects to it. */
export type KnownCluster = Pick<ClusterClient, 'name' | 'clusterId' | 'displayHost' | 'access' | 'shardIds'>;

type Opening = (signal: AbortSignal) => Promise<ClusterClient>;

/**
 * Connects to a cluster at the first call, and tries again at each call while that fails. For a cluster that may be
 * gone for good. Its `kind`, `version` and `newerBinary` are known once a call has succeeded.
 */
export class DeferredCluster implements ClusterClient {
  readonly name: string;
  readonly clusterId: string;
  readonly displayHost: string;
  readonly access: ClusterClient['access'];
  readonly shardIds: readonly string[];
  readonly router: NodeClient;
  readonly #closing = new AbortController();
  #opening: Promise<ClusterClient> | null = null;
  #opened: ClusterClient | null = null;

  /** @param connect tries once */
  constructor(
    known: KnownCluster,
    private readonly connect: Opening,
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

  get newerBinary(): ClusterClient['version'] {
    const { newerBinary, version } = this.#connected;
    return newerBinary ?? version;
  }

  shard(id: string): NodeClient {
    return this.#client(id, (cluster) => cluster.shard(id));
  }

  taskClient(id: string): NodeClient {
    return this.#client(id, (cluster) => cluster.taskClient(id));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const opened = await this.#opening?.catch(() => null);
    await opened?.close();
  }

  get #connected(): ClusterClient {
    if (this.#opened === null) throw new Error(`${this.name} is not connected to`);
    return this.#opened;
  }

  #client(role: string, of: (cluster: ClusterClient) => NodeClient): NodeClient {
    return new DeferredNodeClient(`${this.name} ${role}`, async (signal) => of(await this.#open(signal)));
  }

  /** Concurrent calls share one attempt; aborting one of them does not end it. */
  async #open(signal: AbortSignal): Promise<ClusterClient> {
    signal.throwIfAborted();
    this.#opening ??= this.#try();
    return untilAborted(this.#opening, signal);
  }

  async #try(): Promise<ClusterClient> {
    try {
      this.#closing.signal.throwIfAborted();
      this.#opened = await this.connect(this.#closing.signal);
      return this.#opened;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }
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

  /** The cluster closes its clients. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
