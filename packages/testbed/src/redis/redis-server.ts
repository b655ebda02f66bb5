import { Child } from '../process/child.js';
import { freePort } from '../process/free-port.js';
import type { ScratchFolder } from '../process/scratch-folder.js';

/** How to start a Redis server. */
export interface RedisProgram {
  path: string;
  /** Where it was found, for messages. */
  origin: string;
}

const readyWithin_ms = 20_000;

/**
 * A `redis-server` on this host that we started: it stores nothing on disk, and can be killed, stopped and restarted.
 */
export class RedisServer implements AsyncDisposable {
  private constructor(
    readonly url: string,
    readonly origin: string,
    private readonly launch: () => Promise<Child>,
    private child: Child,
  ) {}

  /** Starts it on a free port, which it keeps. BullMQ requires `noeviction`, the default. */
  static async start({ path, origin }: RedisProgram, folder: ScratchFolder): Promise<RedisServer> {
    const port = await freePort();
    const launch = (): Promise<Child> =>
      Child.start({
        name: 'Redis',
        command: path,
        args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder.path],
        ready: /Ready to accept connections/,
        readyWithin_ms,
        logFile: folder.file('redis.log'),
      });
    return new RedisServer(`redis://127.0.0.1:${port}`, origin, launch, await launch());
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Kills it as `kill -9` does; it loses all data. */
  async kill(): Promise<void> {
    await this.child.kill();
  }

  /** Restarts it under its address, empty, after it has ended. */
  async restart(): Promise<void> {
    await this.child.exited;
    this.child = await this.launch();
  }

  /** Stops it without ending it (SIGSTOP): it accepts connections and never replies. */
  freeze(): void {
    this.child.freeze();
  }

  /** Continues it (SIGCONT). */
  thaw(): void {
    this.child.thaw();
  }

  async close(): Promise<void> {
    this.child.thaw();
    await this.child.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
