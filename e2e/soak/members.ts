import type { Progress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { fairWeather } from './adversary.js';
import type { Incident } from './history.js';
import type { SoakCluster } from './soak-cluster.js';
import { SoakInstance, type SoakWorld } from './soak-instance.js';

const poll_ms = 250;
/** So long a client waits for the answer to a command. */
const answer_ms = 5_000;
/** The fleet notices that its leader is gone after so long. */
const leaderWatch_ms = 2_000;

/** Refusals of a start that is sent again. */
const unreachable: readonly string[] = ['sourceUnavailable', 'destinationUnavailable'];

/** A process that was replaced while it stood still finds its identity taken, and ends after so long. */
const replacedEnds_ms = 5_000;

/** The instances of a history, through their deaths and successors. */
export class Members {
  #current: SoakInstance[] = [];
  #incarnations = 0;
  #seen: readonly Progress[] = [];
  #paused = false;

  constructor(private readonly world: SoakWorld) {}

  /** Starts the first process of every task. */
  begin(): void {
    const { stage, clusters } = this.world;
    const ids = stage.lone ? ['single'] : clusters.source.members.map(({ id }) => id);
    this.#current = ids.map((id) => this.#next(id));
    void this.#watchLeader();
  }

  /** Starts the migration on every instance, again where a cluster could not be reached. */
  async start(): Promise<void> {
    await Promise.all(this.#current.map((instance) => this.#startOne(instance)));
  }

  /** Lets things happen to the processes; resolves when all are over. */
  async suffer(incidents: readonly Incident[], from_ms: number): Promise<void> {
    this.#rough();
    const { time } = this.world;
    await Promise.all(
      incidents.map(async (incident) => {
        await time.sleep(from_ms + incident.at_ms - time.elapsed_ms);
        await this.#happen(incident);
      }),
    );
  }

  /** Calls go well from here on, every process runs, and somebody leads. */
  async recover(): Promise<void> {
    const { fleet } = this.world;
    fleet.lost = 0;
    fleet.lateMax_ms = 0;
    for (const [index, instance] of this.#current.entries()) {
      instance.adversary.weather = fairWeather;
      instance.state.thaw();
      if (instance.state.dead) this.#current[index] = this.#next(instance.id);
    }
    await this.world.time.sleep(leaderWatch_ms);
  }

  async untilCanCommit(): Promise<void> {
    await this.#until((progress) => progress.canCommit);
  }

  /** Sends the commit to every instance, again to those that are restarting. */
  async commit(): Promise<void> {
    for (let place = 0; place < this.#current.length; place += 1) {
      for (;;) {
        await Promise.race([this.#progressOf(place), this.world.time.sleep(answer_ms)]);
        const state = this.#current[place]?.migrationState;
        if (state === 'COMMITTING' || state === 'COMMITTED') break;
        // An abandoned pause was accepted late.
        if (state === 'PAUSED') await this.#resumeAll();
        // A process that dies meanwhile never answers.
        await Promise.race([this.#current[place]?.commit().catch(refusedForNow), this.world.time.sleep(answer_ms)]);
        await this.world.time.sleep(poll_ms);
      }
    }
  }

  /** The last progress that was seen of every instance, for a failure. */
  description(): string {
    return this.#seen
      .map((progress, place) => `${this.#current[place]?.id ?? ''}: ${JSON.stringify(progress)}`)
      .join('\n');
  }

  async untilCommitted(): Promise<void> {
    await this.#until(({ state, canWrite }) => state === 'COMMITTED' && canWrite === true);
  }

  #next(id: string): SoakInstance {
    this.#incarnations += 1;
    const instance = SoakInstance.begin(id, this.#incarnations, this.world);
    if (this.world.fleet.lost > 0) instance.adversary.weather = this.world.stage.weather;
    return instance;
  }

  async #startOne(instance: SoakInstance): Promise<void> {
    while (instance.migrationState === 'INITIALIZING' || instance.migrationState === 'IDLE') {
      await instance.start().catch((error: unknown) => {
        if (!(error instanceof ConvoyError) || !unreachable.includes(error.error)) throw error;
      });
      await this.world.time.sleep(poll_ms);
    }
  }

  #rough(): void {
    const { stage, fleet } = this.world;
    fleet.lost = stage.messagesLost;
    fleet.lateMax_ms = stage.weather.lateMax_ms;
    for (const instance of this.#current) instance.adversary.weather = stage.weather;
  }

  async #until(condition: (progress: Progress) => boolean): Promise<void> {
    for (;;) {
      const all = await Promise.all(this.#current.map((_, place) => this.#progressOf(place)));
      this.#seen = all;
      // A pause may have been stored by a process that died before it was resumed.
      if (all.some(({ state }) => state === 'PAUSED')) await this.#resumeAll();
      for (const progress of all) this.#check(progress);
      if (all.every(condition)) return;
      await this.world.time.sleep(poll_ms);
    }
  }

  /**
   * What an instance says. One whose task a thawed predecessor took is started again, as a supervisor does.
   */
  async #progressOf(place: number): Promise<Progress> {
    const instance = this.#current[place];
    if (instance === undefined) throw new RangeError('no such instance');
    try {
      return await instance.progress();
    } catch (error) {
      if (!(error instanceof ConvoyError) || error.error !== 'staleEpoch') throw error;
      await instance.kill();
      const successor = this.#next(instance.id);
      this.#current[place] = successor;
      return successor.progress();
    }
  }

  #check({ collectionCopy, lagTimeSeconds }: Progress): void {
    if (lagTimeSeconds !== null && lagTimeSeconds < 0) throw new Error(`negative lag: ${lagTimeSeconds}`);
    if (collectionCopy === null) return;
    const { estimatedCopiedBytes, estimatedTotalBytes } = collectionCopy;
    if (estimatedCopiedBytes > estimatedTotalBytes)
      throw new Error(`copied ${estimatedCopiedBytes} of ${estimatedTotalBytes} bytes`);
  }

  async #watchLeader(): Promise<void> {
    for (;;) {
      await this.world.time.sleep(leaderWatch_ms);
      this.world.fleet.replaceDeadLeader();
    }
  }

  async #happen({ kind, who, lasts_ms }: Incident): Promise<void> {
    const { time, clusters, fleet } = this.world;
    const place = who % this.#current.length;
    const instance = this.#current[place];
    this.world.log.write(`${(time.elapsed_ms / 1000).toFixed(3)} ${kind} ${instance?.id ?? ''} for ${lasts_ms}`);
    if (instance === undefined) return;
    switch (kind) {
      case 'kill':
        await instance.kill();
        await time.sleep(lasts_ms);
        if (this.#current[place] === instance) this.#current[place] = this.#next(instance.id);
        return;
      case 'freeze':
        return this.#freeze(instance, place, lasts_ms);
      case 'elect':
        fleet.electOne(who);
        return;
      case 'pause':
        return this.#pause(lasts_ms);
      case 'stepDownSource':
        return this.#stepDown(clusters.source, who, lasts_ms);
      case 'stepDownDestination':
        return this.#stepDown(clusters.destination, who, lasts_ms);
      case 'cut':
        instance.adversary.weather = { ...instance.adversary.weather, lostAnswer: 0.5, lostRequest: 0.5 };
        await time.sleep(Math.min(lasts_ms, 2_000));
        instance.adversary.weather = this.world.stage.weather;
    }
  }

  /** A shard has no primary for so long. */
  async #stepDown({ members }: SoakCluster, who: number, lasts_ms: number): Promise<void> {
    members[who % members.length]?.control.stepDown(lasts_ms / 1000);
    await this.world.time.sleep(lasts_ms);
  }

  /** Half of the frozen processes get a successor before they thaw. */
  async #freeze(instance: SoakInstance, place: number, lasts_ms: number): Promise<void> {
    const { time } = this.world;
    instance.state.freeze();
    await time.sleep(lasts_ms / 2);
    if (lasts_ms % 2 === 0 && this.#current[place] === instance) this.#current[place] = this.#next(instance.id);
    await time.sleep(lasts_ms / 2);
    instance.state.thaw();
    if (this.#current[place] === instance) return;
    await time.sleep(replacedEnds_ms);
    await instance.kill();
  }

  async #pause(lasts_ms: number): Promise<void> {
    if (this.#paused) return;
    this.#paused = true;
    const paused = this.#current.filter(({ state, migrationState }) => state.running && migrationState === 'RUNNING');
    await Promise.all(
      paused.map((instance) => Promise.race([instance.pause().catch(refusedForNow), this.world.time.sleep(lasts_ms)])),
    );
    await this.world.time.sleep(lasts_ms);
    await this.#resumeAll();
    this.#paused = false;
  }

  async #resumeAll(): Promise<void> {
    for (let place = 0; place < this.#current.length; place += 1) {
      const instance = this.#current[place];
      if (instance?.migrationState === 'PAUSED')
        await Promise.race([instance.resume().catch(refusedForNow), this.world.time.sleep(answer_ms)]);
    }
  }
}

/** A command in a state that refuses it. */
function refusedForNow(error: unknown): void {
  if (!(error instanceof ConvoyError)) throw error;
}
