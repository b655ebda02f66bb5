import { ContractClient } from '@convoy/api/client/contract-client';
import { Child } from '../process/child.js';
import type { ScratchFolder } from '../process/scratch-folder.js';
import { convoyProgram, listensLine, listensWithin_ms } from './convoy-program.js';

/** One `convoy coordinator` process on a free port. */
export class CoordinatorProcess implements AsyncDisposable {
  readonly client: ContractClient;

  private constructor(
    private readonly child: Child,
    readonly url: string,
  ) {
    this.client = new ContractClient(url);
  }

  /** Starts the process and waits until it listens. */
  static async start({ redis, fleet }: { redis: string; fleet: string }, folder: ScratchFolder): Promise<CoordinatorProcess> {
    const child = await Child.start({
      name: 'coordinator',
      command: process.execPath,
      args: [convoyProgram, 'coordinator', '--redis', redis, '--fleet', fleet, '--port', '0'],
      ready: listensLine,
      readyWithin_ms: listensWithin_ms,
      logFile: folder.file('coordinator.log'),
    });
    return new CoordinatorProcess(child, child.ready[1] ?? '');
  }

  get pid(): number {
    return this.child.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.stop();
  }
}
