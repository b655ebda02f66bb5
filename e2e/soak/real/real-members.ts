import { setTimeout as delay } from 'node:timers/promises';
import type { ContractClient } from '@convoy/api/client/contract-client';
import type { Progress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { follow } from '@convoy/cli/environment/fleet/follow';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import { type Fleet, startFleet, startLoneInstance } from '@convoy/cli/environment/fleet/start-fleet';
import { Closers } from '@convoy/testbed/closers';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { type Incident, type Stage, startBodyOf } from '../history.js';
import type { RealClusters } from './real-clusters.js';

/** A migration of a few hundred documents that takes longer than this, for one of its parts, hangs. */
const patience_ms = 240_000;
const again_ms = 250;
/** Answers to commands that others accept later. */
const passing: ReadonlySet<string> = new Set(['notInThisState', 'cannotCommit', 'commandFailedOnInstances']);

/** The processes of a history, and what happens to them. */
export class RealMembers implements AsyncDisposable {
  #paused = false;
  /** Members with an incident under way: no member is killed while it restarts. */
  readonly #struck = new Set<InstanceProcess>();

  private constructor(
    private readonly stage: Stage,
    private readonly clusters: RealClusters,
    private readonly instances: readonly InstanceProcess[],
    /** Takes the commands. */
    private readonly client: ContractClient,
    private readonly fleet: Fleet | null,
    private readonly closers: Closers,
  ) {}

  /** Starts one instance for everything, or a fleet with its coordinator and its Redis, as the stage has it. */
  static async start(stage: Stage, clusters: RealClusters, folder: ScratchFolder): Promise<RealMembers> {
    const { readers, writers, applyWorkers, partition_seconds, loadRate, access, lone } = stage;
    const settings = {
      readers,
      writers,
      applyWorkers,
      partition_seconds,
      loadRateBytesPerSecond: loadRate,
      sourceAccess: access,
      checkpoint_ms: 300,
      catalogInterval_seconds: 2,
    };
    const closers = new Closers();
    const options = { source: clusters.source, destination: clusters.destination, folder, settings };
    if (lone) {
      const instance = closers.use(await startLoneInstance(options));
      return new RealMembers(stage, clusters, [instance], instance.client, null, closers);
    }
    const fleet = closers.use(await startFleet(options));
    return new RealMembers(stage, clusters, fleet.instances, fleet.coordinator.client, fleet, closers);
  }

  /** Starts the migration. */
  async begin(): Promise<void> {
    await this.#untilTaken(() => this.client.start(startBodyOf(this.stage)));
  }

  /** Lets things happen at their times from now on; resolves when all are over. */
  async suffer(incidents: readonly Incident[]): Promise<void> {
    await Promise.all(
      incidents.map(async (incident) => {
        await delay(incident.at_ms);
        await this.#happen(incident);
      }),
    );
  }

  async untilCanCommit(): Promise<void> {
    await this.#until('canCommit', ({ canCommit }) => canCommit);
  }

  async commit(): Promise<void> {
    await this.#untilTaken(() => this.client.commit());
  }

  async untilCommitted(): Promise<void> {
    await this.#until('COMMITTED with canWrite', ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true);
  }

  async #until(what: string, until: (progress: Progress) => boolean): Promise<void> {
    let last: Progress | undefined;
    try {
      await follow(() => this.#progress(), {
        what,
        limit_ms: patience_ms,
        until,
        show: (progress) => (last = progress),
      });
    } catch (error) {
      throw new Error(`${String(error)}; the last progress: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  /**
   * What the service says. A pause may be stored by a process that died before the resume came: operators send it
   * again, as the warning asks.
   */
  async #progress(): Promise<Progress> {
    const { progress } = await this.client.progress();
    if (progress.warnings?.some(({ name }) => name === 'mixedStates') === true)
      await this.client.resume().catch(passOver);
    return progress;
  }

  /** Sends a command until it is taken, or its effect shows that it was. */
  async #untilTaken(command: () => Promise<unknown>): Promise<void> {
    const until_ms = performance.now() + patience_ms;
    for (;;) {
      try {
        await command();
        return;
      } catch (error) {
        if (!(error instanceof ConvoyError) || performance.now() > until_ms) throw error;
        if (error.error === 'notInThisState' && (await this.#isOn())) return;
        if (error.retry !== 'automatic' && !passing.has(error.error)) throw error;
      }
      await delay(again_ms);
    }
  }

  /**
   * Whether the migration does what commands ask for already. Right after a restart a process does not know its state
   * yet.
   */
  async #isOn(): Promise<boolean> {
    const progress = await this.client.progress().catch(() => null);
    return progress !== null && !['INITIALIZING', 'IDLE', 'PAUSED'].includes(progress.progress.state);
  }

  async #happen({ kind, who, lasts_ms }: Incident): Promise<void> {
    const instance = this.instances[who % this.instances.length];
    if (instance === undefined) return;
    switch (kind) {
      case 'kill':
      case 'elect':
      case 'freeze':
        return this.#strike(instance, kind === 'freeze', lasts_ms);
      case 'pause':
        return this.#pause(lasts_ms);
      case 'stepDownSource':
        return this.clusters.stepDown('source', who, lasts_ms);
      case 'stepDownDestination':
        return this.clusters.stepDown('destination', who, lasts_ms);
      case 'cut':
        return this.#freezeRedis(lasts_ms);
    }
  }

  async #strike(instance: InstanceProcess, freezes: boolean, lasts_ms: number): Promise<void> {
    if (this.#struck.has(instance)) return;
    this.#struck.add(instance);
    if (freezes) instance.freeze();
    else await instance.kill();
    await delay(lasts_ms);
    if (freezes) instance.thaw();
    else await instance.restart();
    this.#struck.delete(instance);
  }

  /**
   * Of a pause that is refused, during a restart for example, some instances may have taken their part: all are
   * resumed.
   */
  async #pause(lasts_ms: number): Promise<void> {
    if (this.#paused) return;
    this.#paused = true;
    await this.client.pause().catch(passOver);
    await delay(lasts_ms);
    await this.#untilTaken(() => this.client.resume());
    this.#paused = false;
  }

  /** Nobody hears of the others. */
  async #freezeRedis(lasts_ms: number): Promise<void> {
    const pid = this.fleet?.redis.pid;
    if (pid === undefined) return;
    process.kill(pid, 'SIGSTOP');
    await delay(lasts_ms);
    process.kill(pid, 'SIGCONT');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closers[Symbol.asyncDispose]();
  }
}

function passOver(error: unknown): void {
  if (!(error instanceof ConvoyError)) throw error;
}
