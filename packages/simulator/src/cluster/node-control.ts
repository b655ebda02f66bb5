import type { NodeIdentity } from '../every-node/node-identity.js';
import type { ReleaseSeries } from '../node/server-version.js';
import type { FailPoints } from '../faults/fail-points.js';
import type { WireServer } from '../wire/wire-server.js';

/** What a kind of node does when its process ends and when it starts again. */
interface NodeProcess {
  /** Drops what is in memory only. */
  end(): void;
  begin(): void;
  /** Does nothing on its own until `wake`. */
  freeze(): void;
  wake(): void;
}

/** How slow the network to a node's clients is. */
interface Slowness {
  /** Milliseconds by which every answer is delayed. Default 0. */
  readonly latencyMs?: number;
  /** Bytes per second that each connection sends at most; default without limit. */
  readonly bytesPerSecond?: number;
}

/** Faults of one node: a shard, the config server, a router or the member of a replica set. */
export class NodeControl {
  constructor(
    /** `router0`, `config`, `shard0`, … */
    readonly name: string,
    readonly identity: NodeIdentity,
    private readonly server: WireServer,
    private readonly failPoints: FailPoints,
    private readonly process: NodeProcess,
  ) {}

  /** True while its process runs. */
  get running(): boolean {
    return this.identity.condition.running;
  }

  /**
   * Ends the process as a kill does: clients are disconnected and refused. Data, oplog and the written records of
   * sessions stay. Cursors, running transactions and fail points are lost. Does nothing when it is stopped.
   */
  async stop(): Promise<void> {
    if (!this.running) return;
    this.identity.condition.setPaused(false);
    this.identity.condition.setRunning(false);
    this.process.end();
    this.failPoints.clear();
    await this.server.close();
  }

  /** Starts the process again, on the same port. Does nothing while it runs. */
  async start(): Promise<void> {
    if (this.running) return;
    await this.server.reopen();
    this.identity.restart();
    this.process.begin();
    this.identity.condition.setRunning(true);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /**
   * Ends the process and starts it with the program of another release, as an upgrade does with each node.
   * @throws RangeError for a release that does not start on the data's feature compatibility version; the node then
   * keeps running
   */
  async upgrade(series: ReleaseSeries): Promise<void> {
    this.identity.release.install(series);
    await this.restart();
  }

  /** Freezes the process: it accepts connections and never answers, until `resume`. */
  pause(): void {
    if (!this.running) return;
    this.identity.condition.setPaused(true);
    this.process.freeze();
  }

  resume(): void {
    if (!this.identity.condition.paused) return;
    this.process.wake();
    this.identity.condition.setPaused(false);
  }

  /** Delays every command, those of other nodes too. 0 lifts the delay. */
  slowCommands(delayMs: number): void {
    this.identity.condition.delayMs = delayMs;
  }

  /** Slows the network to the node's clients. */
  slowConnections({ latencyMs = 0, bytesPerSecond = Infinity }: Slowness): void {
    this.server.faults.latencyMs = latencyMs;
    this.server.faults.bytesPerSecond = bytesPerSecond;
  }

  /** Cuts all connections of clients; new ones are accepted. */
  cutConnections(): void {
    this.server.dropConnections();
  }

  /**
   * Cuts the connection that crosses a number of bytes, counted over all connections from now on.
   * @param direction as the node sees it: `received` loses the command, `sent` the answer to a command that took effect
   */
  cutAfterBytes(bytes: number, direction: 'received' | 'sent' = 'sent'): void {
    this.server.faults.cutAfterBytes(bytes, direction);
  }

  /** Cuts the connection within the next answer to a command of this name, after this many of its bytes. */
  cutWithinReply(command: string, bytes: number): void {
    this.server.faults.cutWithinReply(command, bytes);
  }

  /** Lifts slowness, pauses and pending cuts. A stopped node stays stopped. */
  heal(): void {
    this.resume();
    this.slowCommands(0);
    this.server.faults.clear();
  }
}
