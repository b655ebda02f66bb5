import { writeFileSync } from 'node:fs';
import { ContractClient } from '@convoy/api/client/contract-client';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { Child, type Exit } from '@convoy/testbed/process/child';
import { freePort } from '@convoy/testbed/process/free-port';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { FleetInstance } from './start-fleet.js';
import { convoyProgram, listensLine, listensWithin_ms, withoutRedisVariable } from './convoy-program.js';

export interface InstanceProcessOptions {
  /** Name of its source shard; undefined for a lone instance that syncs a whole cluster. */
  id: string | undefined;
  source: TestCluster;
  destination: TestCluster;
  /** Redis and the name of the fleet there; undefined for a lone instance. */
  membership: { redis: string; fleet: string } | undefined;
  folder: ScratchFolder;
  /** More settings for its configuration file. */
  settings?: Readonly<Record<string, unknown>>;
  /** Distinguishes the files of processes with the same id. */
  files?: string;
}

/** Time limit of connecting to both clusters. */
const readyWithin_ms = 60_000;

/** The configuration of an instance. */
export function instanceConfiguration({
  id,
  source,
  destination,
  membership,
  settings,
}: InstanceProcessOptions): Record<string, unknown> {
  return {
    cluster0: source.connectionString,
    cluster1: destination.connectionString,
    ...(id && { id }),
    ...membership,
    ...settings,
  };
}

/** Waits until an instance accepts commands. */
export function untilReady({ name, url }: Pick<FleetInstance, 'name' | 'url'>): Promise<unknown> {
  return pollUntil(`${name} is ready`, readyWithin_ms, async () => (await fetch(`${url}/readyz`)).ok);
}

/** One `convoy instance` process, which tests can kill and restart under the same address. */
export class InstanceProcess implements FleetInstance {
  readonly url: string;
  readonly client: ContractClient;

  private constructor(
    readonly name: string,
    /** Its whole output. */
    readonly logFile: string,
    private readonly launch: () => Promise<Child>,
    port: number,
    private child: Child,
  ) {
    this.url = `http://127.0.0.1:${port}`;
    this.client = new ContractClient(this.url);
  }

  /** Starts the process and waits until it accepts commands. */
  static async start(options: InstanceProcessOptions): Promise<InstanceProcess> {
    const { id, folder } = options;
    const name = id ?? 'single';
    const files = options.files ?? name;
    const port = await freePort();
    const configFile = folder.file(`instance-${files}.json`);
    const logFile = folder.file(`instance-${files}.log`);
    writeFileSync(configFile, JSON.stringify({ port, ...instanceConfiguration(options) }, null, 2));
    const launch = () =>
      Child.start({
        name: `instance ${name}`,
        command: process.execPath,
        args: [convoyProgram, 'instance', '--config', configFile, '--port', String(port)],
        env: withoutRedisVariable,
        ready: listensLine,
        readyWithin_ms: listensWithin_ms,
        logFile,
      });
    const instance = new InstanceProcess(name, logFile, launch, port, await launch());
    await instance.ready();
    return instance;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Kills it as `kill -9` does. */
  kill(): Promise<Exit> {
    return this.child.kill();
  }

  /** Ends it in order (SIGTERM). */
  stop(): Promise<Exit> {
    return this.child.stop();
  }

  /** Stops it without ending it (SIGSTOP). */
  freeze(): void {
    this.child.freeze();
  }

  /** Continues it (SIGCONT). */
  thaw(): void {
    this.child.thaw();
  }

  /** Restarts it with the same configuration after it has ended, and waits until it accepts commands. */
  async restart(): Promise<void> {
    await this.child.exited;
    this.child = await this.launch();
    await this.ready();
  }

  private ready(): Promise<unknown> {
    return untilReady(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    await this.child.stop();
  }
}
