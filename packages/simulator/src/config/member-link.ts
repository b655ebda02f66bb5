import type { ObjectId } from 'bson';
import type { Doc } from '../bson/value.js';
import type { NodeIdentity } from '../every-node/node-identity.js';
import { CommandError, type CommandNode, type CommandRequest } from '../node/command.js';
import type { NodeCondition } from '../node/node-condition.js';
import type { ServerVersion } from '../node/server-version.js';
import type { ShardStream, ShardStreamEvent } from '../shard/change-stream/shard-stream.js';

/** How long a router looks for the primary of a shard (server parameter `defaultFindReplicaSetHostTimeoutMS`). */
const hostSelectionMsDefault = 15_000;
/** How often a router retries a command whose connection broke, where a retry is safe (server: three times). */
const repetitionsMax = 3;

/** Commands that change nothing, so that a retry is safe. */
const reads: ReadonlySet<string> = new Set([
  'find',
  'count',
  'distinct',
  'listCollections',
  'listIndexes',
  'listDatabases',
  'collStats',
  'dbStats',
  'dataSize',
]);

/** A network failure between nodes. */
class LinkBroken extends CommandError {
  constructor(message: string) {
    super(6, 'HostUnreachable', message);
  }
}

/**
 * The link from the nodes of a cluster to one member. A command waits for a running primary, fails when the member
 * stops meanwhile, and is retried where a router retries it.
 */
export class MemberLink implements CommandNode {
  readonly #inFlight = new Set<(broken: LinkBroken) => void>();
  /** Increases with each stop: everything opened before is closed. */
  #generation = 0;

  constructor(
    private readonly target: CommandNode,
    private readonly identity: NodeIdentity,
    private readonly hostSelectionMs: number = hostSelectionMsDefault,
  ) {}

  /** The release of the member's program. */
  get version(): ServerVersion {
    return this.identity.version;
  }

  /** The election that made the member primary. */
  get electionId(): ObjectId {
    return this.identity.role.electionId;
  }

  /**
   * Runs a command on the member.
   * @throws CommandError 6 when the connection breaks, 133 without a primary for too long
   */
  async run(request: CommandRequest): Promise<Doc> {
    for (let repetition = 0; ; repetition += 1) {
      await this.ready(request.signal);
      try {
        return await this.#send(request);
      } catch (error) {
        if (!(error instanceof LinkBroken) || repetition >= repetitionsMax || !mayRepeat(request)) throw error;
      }
    }
  }

  /**
   * Resolves when the member is a running primary that answers.
   * @throws CommandError 133 when it is none for too long
   */
  async ready(signal: AbortSignal): Promise<void> {
    const { condition, role } = this.identity;
    const deadlineMs = Date.now() + this.hostSelectionMs;
    while (!condition.running || !role.primary) {
      const leftMs = deadlineMs - Date.now();
      if (leftMs <= 0 || signal.aborted) throw this.#noPrimary();
      await condition.change(leftMs, signal);
    }
    if (condition.delayMs > 0 || condition.paused) await condition.hold(signal);
  }

  /** True while the member is a running primary. */
  get up(): boolean {
    return this.identity.condition.running && this.identity.role.primary;
  }

  /** @throws CommandError 6 when the member's process does not run */
  refuseStopped(): void {
    if (this.identity.condition.running) return;
    const { host } = this.identity;
    throw new LinkBroken(`Error connecting to ${host} :: caused by :: Connection refused`);
  }

  /** The member's process has ended: pending commands fail, and open streams end. */
  break(): void {
    this.#generation += 1;
    for (const fail of [...this.#inFlight]) fail(new LinkBroken('Connection closed by peer'));
  }

  /** A stream of the member that ends with its process and pauses with it. */
  guarded(stream: ShardStream): ShardStream {
    return new GuardedStream(stream, this.identity.condition, this.#generation, () => this.#generation);
  }

  #send(request: CommandRequest): Promise<Doc> {
    return new Promise((resolve, reject) => {
      const finished = (): boolean => this.#inFlight.delete(reject);
      this.#inFlight.add(reject);
      this.target.run(request).then(
        (reply) => {
          finished();
          resolve(reply);
        },
        (error: unknown) => {
          finished();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  #noPrimary(): CommandError {
    const message = `Could not find host matching read preference { mode: "primary" } for set ${this.identity.setName}`;
    return new CommandError(133, 'FailedToSatisfyReadPreference', message);
  }
}

function mayRepeat({ name, body, signal }: CommandRequest): boolean {
  if (signal.aborted || body.has('autocommit')) return false;
  return reads.has(name) || body.has('txnNumber');
}

/** A change stream whose shard may stop. */
class GuardedStream implements ShardStream {
  #scannedTo: ShardStream['scannedTo'];

  constructor(
    private readonly stream: ShardStream,
    private readonly condition: NodeCondition,
    private readonly openedIn: number,
    private readonly generation: () => number,
  ) {
    this.#scannedTo = stream.scannedTo;
  }

  take(eventsMax: number, bytesMax: number): ShardStreamEvent[] {
    if (!this.condition.running) throw lost(6, 'HostUnreachable', 'Connection closed by peer');
    if (this.generation() !== this.openedIn) throw lost(43, 'CursorNotFound', 'the cursor ended with its process');
    return this.condition.paused ? [] : this.stream.take(eventsMax, bytesMax);
  }

  get scannedTo(): ShardStream['scannedTo'] {
    if (!this.condition.paused) this.#scannedTo = this.stream.scannedTo;
    return this.#scannedTo;
  }

  get tokenSeen(): boolean {
    return this.stream.tokenSeen;
  }

  waitForChange(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return Promise.race([this.stream.waitForChange(timeoutMs, signal), this.condition.change(timeoutMs, signal)]);
  }

  close(): void {
    this.stream.close();
  }
}

function lost(code: number, name: string, message: string): CommandError {
  return new CommandError(code, name, message, ['ResumableChangeStreamError']);
}
