import { type Clock, NoAnswerError, systemClock } from '../async/clock.js';
import { Condition } from '../async/waiting.js';
import { AnswerLimits } from '../cluster/calls-in-flight.js';
import { codeOf, serverErrorCode } from '../cluster/failure.js';
import type { CallOptions, NodeClient } from '../cluster/node-client.js';
import type { CollectionPlan } from './destination-plan.js';
import { namespaceOf } from './namespace.js';
import { listIndexes } from './read-indexes.js';

/** Interval between looks at a build that somebody else has begun: small beside what a build takes. */
const look_ms = 500;

/** Indexes of one collection that are being built. */
export interface BuildUnderWay {
  cluster: 'source' | 'destination';
  database: string;
  name: string;
  indexes: readonly string[];
}

/** The builds that the leader waits for now, for its warning. */
export class BuildsUnderWay {
  readonly #since_ms = new Map<BuildUnderWay, number>();
  #onSource: readonly BuildUnderWay[] = [];
  readonly #changes = new Condition();
  #hasLooked = false;
  /** How long a command may be silent before Convoy looks whether it builds anything. */
  readonly limits: AnswerLimits;

  constructor(readonly clock: Pick<Clock, 'sleep' | 'monotonic_ms'> = systemClock) {
    this.limits = new AnswerLimits(() => clock.monotonic_ms());
  }

  /** Those that have lasted for a time. */
  lasting(least_ms: number): BuildUnderWay[] {
    if (this.#since_ms.size === 0) return [];
    const now_ms = this.clock.monotonic_ms();
    return [...this.#since_ms].filter(([, since_ms]) => now_ms - since_ms >= least_ms).map(([build]) => build);
  }

  /** Whether the source builds an index, as it was last seen. */
  get isSourceBuilding(): boolean {
    return this.#onSource.length > 0;
  }

  /** Whether this leader knows which builds there are; until then those that an earlier one has named may last. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** Resolves once there is a build, or this leader has looked first; rejects with the signal's reason. */
  async untilAny(signal: AbortSignal): Promise<void> {
    const { hasLooked } = this;
    await this.#changes.until(() => this.#since_ms.size > 0 || hasLooked !== this.#hasLooked, signal);
  }

  /** Notes that both clusters have been compared: no other build is left. */
  noteLooked(): void {
    this.#hasLooked = true;
    this.#changes.changed();
  }

  /** Notes builds while work lasts. */
  async during<Result>(build: BuildUnderWay, work: () => Promise<Result>): Promise<Result> {
    this.#begin(build);
    try {
      return await work();
    } finally {
      this.#since_ms.delete(build);
    }
  }

  /** Notes what the source builds now. Of a build that it still has, the earlier time counts. */
  noteSource(builds: readonly BuildUnderWay[]): void {
    const before = this.#onSource;
    this.#onSource = builds.map((build) => before.find((one) => isSame(one, build)) ?? build);
    for (const gone of before.filter((one) => !this.#onSource.includes(one))) this.#since_ms.delete(gone);
    for (const build of this.#onSource) if (!before.includes(build)) this.#begin(build);
  }

  #begin(build: BuildUnderWay): void {
    this.#since_ms.set(build, this.clock.monotonic_ms());
    this.#changes.changed();
  }
}

function isSame(a: BuildUnderWay, b: BuildUnderWay): boolean {
  return namespaceOf(a) === namespaceOf(b) && a.indexes.join('\n') === b.indexes.join('\n');
}

/** Where builds are waited for. */
interface BuildsPlace {
  client: NodeClient;
  signal: AbortSignal;
  /** Absent: nothing shows them. */
  builds?: BuildsUnderWay | undefined;
}

interface Place {
  database: string;
  name: string;
}

/**
 * Waits while a collection of the destination has builds under way, which a former leader or a lost call has begun.
 * They go on by themselves: through a step-down, and without the connection that began them. The wait has no limit, as
 * a build has none; the leader's warning names it.
 * @param buildingNow the names that are still being built
 */
export async function untilBuilt(
  { builds = new BuildsUnderWay(), signal }: Pick<BuildsPlace, 'builds' | 'signal'>,
  { database, name }: Place,
  buildingNow: () => Promise<readonly string[]>,
): Promise<void> {
  let indexes = await buildingNow();
  while (indexes.length > 0) {
    const wait = async (): Promise<readonly string[]> => {
      const key = indexes.join('\n');
      for (let now = indexes; ; now = await buildingNow()) {
        if (now.join('\n') !== key) return now;
        await builds.clock.sleep(look_ms, signal);
      }
    };
    indexes = await builds.during({ cluster: 'destination', database, name, indexes }, wait);
  }
}

/**
 * Sends a command that servers refuse while an index of the collection is being built, and waits for these builds.
 * @throws what the command throws; also BackgroundOperationInProgressForNamespace, which a retry resolves, if the build
 * has ended meanwhile
 */
export async function betweenBuilds<Result>(
  place: BuildsPlace,
  collection: Place,
  send: () => Promise<Result>,
): Promise<Result> {
  const { database, name } = collection;
  const buildingNow = async (): Promise<string[]> => {
    const listed = await listIndexes(place.client, database, name, place.signal);
    return (listed?.building ?? []).map((index) => index.name as string);
  };
  for (;;) {
    try {
      return await send();
    } catch (failure) {
      if (codeOf(failure) !== serverErrorCode.backgroundOperationInProgress) throw failure;
      if ((await buildingNow()).length === 0) throw failure;
      await untilBuilt(place, collection, buildingNow);
    }
  }
}

/** Interval between looks at a build that has been seen. */
const watchedLook_ms = 10_000;

/**
 * Sends a command that builds indexes, which may be silent for hours. When it is silent for longer than other commands
 * may be, Convoy looks whether the indexes are being built. If they are not, whoever was asked is gone, or has built
 * them without an answer, or they wait in the server's queue: the command is given up, and a repetition finds what is
 * there. Each time doubles the limit, for the sake of the queue.
 * @param namespace of the collection
 * @param isBuilding whether any of the indexes is being built
 * @throws NoAnswerError; what the command throws
 */
export async function watchedBuild(
  builds: BuildsUnderWay,
  namespace: string,
  signal: AbortSignal,
  send: (options: CallOptions) => Promise<unknown>,
  isBuilding: (signal: AbortSignal) => Promise<boolean>,
): Promise<void> {
  const given = new AbortController();
  const done = new AbortController();
  const sent = send({ signal: AbortSignal.any([signal, given.signal]), answerMax_ms: Infinity });
  const over = AbortSignal.any([signal, done.signal]);
  const watch = async (): Promise<void> => {
    const limit_ms = builds.limits.limit_ms(namespace);
    await builds.clock.sleep(limit_ms, over);
    // A look that fails says nothing about the build.
    while (!over.aborted && (await isBuilding(over).catch(() => true))) await builds.clock.sleep(watchedLook_ms, over);
    over.throwIfAborted();
    builds.limits.exceeded(namespace, limit_ms);
    given.abort(new NoAnswerError(`No answer to createIndexes of ${namespace}, which builds nothing`));
  };
  const watching = watch().catch((error: unknown) => {
    if (!over.aborted) given.abort(error);
  });
  try {
    await sent;
  } finally {
    done.abort();
    await watching;
  }
}

/** Progress of the index builds; the names are those of `progress.indexBuilding`. */
export interface IndexBuildProgress {
  indexesBuilt: number;
  totalIndexesToBuild: number;
  collectionsFinished: number;
  collectionsTotal: number;
}

/** Counts the indexes of planned collections as they are built, in their form before the commit. */
export class BuildCounts {
  readonly #progress: IndexBuildProgress;

  /** @param onProgress called at once, and after every finished collection */
  constructor(
    plans: readonly CollectionPlan[],
    private readonly onProgress: ((progress: IndexBuildProgress) => void) | undefined,
  ) {
    this.#progress = {
      indexesBuilt: 0,
      totalIndexesToBuild: plans.reduce((sum, plan) => sum + indexesOf(plan), 0),
      collectionsFinished: 0,
      collectionsTotal: plans.length,
    };
    this.#report();
  }

  finish(plan: CollectionPlan): void {
    this.#progress.indexesBuilt += indexesOf(plan);
    this.#progress.collectionsFinished += 1;
    this.#report();
  }

  #report(): void {
    this.onProgress?.({ ...this.#progress });
  }
}

function indexesOf({ indexes }: CollectionPlan): number {
  return indexes.filter(({ temporary }) => temporary !== null).length;
}
