import { setMaxListeners } from 'node:events';
import type { Progress } from '@convoy/api/contract/progress';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Random } from '@convoy/cli/demo/random';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { createRuntime } from '@convoy/instance/lifecycle/migration/runtime';
import { SyncInstance } from '@convoy/instance/lifecycle/instance/sync-instance';
import { createLogger } from '@convoy/instance/logging/logger';
import { Metrics } from '@convoy/instance/metrics/metrics';
import { Adversary } from './adversary.js';
import { type Stage, startBodyOf } from './history.js';
import { ProcessState, processClock } from './process-state.js';
import { connectInProcess, type SoakCluster } from './soak-cluster.js';
import type { Seat, SoakFleet } from './soak-fleet.js';
import type { VirtualTime } from './virtual-time.js';

/** The clusters between which a history's migration goes. */
export interface Clusters {
  readonly source: SoakCluster;
  readonly destination: SoakCluster;
}

/** Takes the log lines of all processes. */
export interface SoakLog {
  readonly verbosity: 'DEBUG' | 'ERROR';
  write(line: string): void;
}

/** Common parts of all processes of a history. */
export interface SoakWorld {
  readonly stage: Stage;
  readonly time: VirtualTime;
  readonly fleet: SoakFleet;
  readonly clusters: Clusters;
  readonly random: Random;
  readonly log: SoakLog;
}

/** One incarnation of an instance in this process. */
export class SoakInstance {
  readonly state = new ProcessState();
  readonly adversary: Adversary;
  readonly #instance: SyncInstance;
  readonly #seat: Seat;
  #opened: Promise<void> = Promise.resolve();

  private constructor(
    readonly id: string,
    readonly incarnation: number,
    private readonly world: SoakWorld,
  ) {
    const { stage, time, clusters, random } = world;
    this.adversary = new Adversary(new Random(random.below(2 ** 31)));
    const config = parseInstanceConfig({
      flags: {
        cluster0: `mongodb://${clusters.source.host}`,
        cluster1: `mongodb://${clusters.destination.host}`,
        ...(stage.lone ? {} : { id }),
        sourceAccess: stage.access,
        readers: stage.readers,
        writers: stage.writers,
        applyWorkers: stage.applyWorkers,
        partition_seconds: stage.partition_seconds,
        loadRateBytesPerSecond: stage.loadRate,
        checkpoint_ms: 500,
      },
    });
    const clock = processClock(time, this.state, new Random(random.below(2 ** 31)));
    const name = `${id}#${incarnation}`;
    const stream = {
      write: (line: string) => world.log.write(`${(time.elapsed_ms / 1000).toFixed(3)} ${name} ${line.trimEnd()}`),
    };
    const logger = createLogger({ verbosity: world.log.verbosity, stream });
    const runtime = createRuntime(config, clock, logger, new Metrics({ processMetrics: false }));
    const identity = { id, syncID: id, incarnation: String(incarnation), release: '2.0.0' };
    const around = { time, adversary: this.adversary, state: this.state };
    this.#seat = world.fleet.seat(this.state);
    this.#instance = new SyncInstance(runtime, this.#seat, identity, (_config, cluster, access, signal) =>
      connectInProcess(
        cluster,
        cluster === 'cluster0' ? clusters.source : clusters.destination,
        access,
        around,
        signal,
      ),
    );
    this.#opened = this.#seat.join(identity).then(() => this.#instance.open());
    this.#opened.catch(() => undefined);
  }

  /** Starts a process; it resumes from the stored state. */
  static begin(id: string, incarnation: number, world: SoakWorld): SoakInstance {
    setMaxListeners(0);
    return new SoakInstance(id, incarnation, world);
  }

  get migrationState(): SyncInstance['state'] {
    return this.#instance.state;
  }

  async start(): Promise<void> {
    await this.#opened;
    await this.#instance.start(parseStartRequest(startBodyOf(this.world.stage)));
  }

  async commit(): Promise<void> {
    await this.#instance.commit();
  }

  async pause(): Promise<void> {
    await this.#instance.pause();
  }

  async resume(): Promise<void> {
    await this.#instance.resume();
  }

  /** @throws ConvoyError when the migration, or this process, has failed */
  async progress(): Promise<Progress> {
    await this.#opened;
    return this.#instance.progress();
  }

  /** Ends the process between two instructions; what it has sent may still arrive. */
  async kill(): Promise<void> {
    this.state.kill();
    await this.#seat.leave();
  }
}
