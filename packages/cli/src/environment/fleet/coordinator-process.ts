import { writeFileSync } from 'node:fs';
import { ContractClient } from '@convoy/api/client/contract-client';
import { Child } from '@convoy/testbed/process/child';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { FleetCoordinator, FleetMembership } from './start-fleet.js';
import { convoyProgram, listensLine, listensWithin_ms, withoutRedisVariable } from './convoy-program.js';

/** One `convoy coordinator` process on a free port. */
export class CoordinatorProcess implements FleetCoordinator {
  readonly client: ContractClient;

  private constructor(
    private child: Child,
    readonly url: string,
    private readonly launch: (port: string) => Promise<Child>,
  ) {
    this.client = new ContractClient(url);
  }

  /**
   * Starts the process and waits until it listens.
   * @param settings more settings for its configuration
   * @param name distinguishes its files from those of other coordinators
   */
  static async start(
    membership: FleetMembership,
    folder: ScratchFolder,
    settings: Readonly<Record<string, unknown>> = {},
    name = 'coordinator',
  ): Promise<CoordinatorProcess> {
    const configFile = folder.file(`${name}.json`);
    writeFileSync(configFile, JSON.stringify({ ...membership, ...settings }));
    const launch = (port: string): Promise<Child> =>
      Child.start({
        name,
        command: process.execPath,
        args: [convoyProgram, 'coordinator', '--config', configFile, '--port', port],
        env: withoutRedisVariable,
        ready: listensLine,
        readyWithin_ms: listensWithin_ms,
        logFile: folder.file(`${name}.log`),
      });
    const child = await launch('0');
    return new CoordinatorProcess(child, child.ready[1] ?? '', launch);
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Ends the process; its port is free until `startAgain`. */
  async stop(): Promise<void> {
    await this.child.stop();
  }

  /** Starts it again on the same port. */
  async startAgain(): Promise<void> {
    this.child = await this.launch(new URL(this.url).port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.stop();
  }
}
