import { mapBounded } from '../../async/together.js';
import { checkAgain, type Mismatch } from '../compare/check-again.js';
import { compareFirst, type DocumentsRead, type Finding } from '../compare/first-comparison.js';
import { type KnownTimes, knownTimes } from '../compare/sides.js';
import type { ComparisonDependencies } from './compare-clusters.js';
import type { PartStats, StoredSuspect } from './comparison-journal.js';
import { type ComparedCollection, type ComparisonPartition, namesOf, lookupSides } from './comparison-plan.js';

/**
 * Compares everything that was not compared yet. Whatever differs is a suspect of this generation. It records what was
 * compared, so that a later process does not repeat it.
 * @throws what the clients throw after their retries, and what the state throws
 */
export async function firstGeneration(deps: ComparisonDependencies, times: KnownTimes): Promise<void> {
  const partitions = [...deps.state.pending.values()];
  await mapBounded(partitions, deps.options.readers, async (partition) => {
    deps.signal.throwIfAborted();
    await comparePartition(deps, deps.state.collection(partition.collection), partition, times);
  });
}

/** One partition, which becomes several when its progress is recorded. */
async function comparePartition(
  deps: ComparisonDependencies,
  collection: ComparedCollection,
  whole: ComparisonPartition,
  times: KnownTimes,
): Promise<void> {
  const { state, clock, options, retrying, signal } = deps;
  let partition = whole;
  let attempt = 0;
  let read = nothingRead;
  /** What was read and found since the last record. */
  let recorded = nothingRead;
  let suspects = 0;
  let recorded_ms = clock.monotonic_ms();
  const stats = (): PartStats => ({ ...difference(read, recorded), suspects });
  await compareFirst(
    {
      ...{ ...collection, ...{ lower: whole.lower, upper: whole.upper } },
      ...{ clusters: deps, on: namesOf(collection), times, retrying, signal },
    },
    {
      began() {
        attempt = state.nextAttempt();
        [read, recorded, suspects] = [nothingRead, nothingRead, 0];
      },
      async found(findings) {
        suspects += findings.length;
        await addSuspects(deps, partition, attempt, findings);
      },
      read(documents) {
        read = documents;
      },
      async reached(next) {
        if (clock.monotonic_ms() - recorded_ms < options.record_ms) return;
        partition = await state.split(partition, attempt, stats(), next);
        [recorded, suspects] = [read, 0];
        recorded_ms = clock.monotonic_ms();
      },
    },
  );
  await state.finish(partition, attempt, stats());
}

const nothingRead: DocumentsRead = { sourceDocuments: 0, destinationDocuments: 0, bytes: 0 };

function difference(now: DocumentsRead, before: DocumentsRead): DocumentsRead {
  return {
    sourceDocuments: now.sourceDocuments - before.sourceDocuments,
    destinationDocuments: now.destinationDocuments - before.destinationDocuments,
    bytes: now.bytes - before.bytes,
  };
}

async function addSuspects(
  { state, clock }: ComparisonDependencies,
  { number, collection }: ComparisonPartition,
  attempt: number,
  findings: readonly Finding[],
): Promise<void> {
  const now_ms = clock.now_ms();
  const first = { unchangedSince_ms: now_ms, unchangedLooks: 1, firstSeen_ms: now_ms, looks: 1 };
  await state.addSuspects(
    { collection, partition: number, attempt },
    findings.map((finding) => ({ ...finding, ...first })),
  );
}

/** Suspects processed at once; of each only its `_id` and two digests are in memory. */
const portionMax = 2_000;
/** Suspects of one collection looked up by one command. */
const lookupsMax = 500;

/**
 * Checks all suspects again, one generation after the other, until they agree, are proven different, or the maximum
 * number of generations has passed. It waits between two generations, so that the rule's time passes over its number of
 * checks.
 * @throws what the clients throw after their retries, and what the state throws
 */
export async function laterGenerations(deps: ComparisonDependencies): Promise<void> {
  const { state, options, clock, signal } = deps;
  const pause_ms = options.rule.settle_ms / options.rule.looksMin;
  while (state.totals.suspects > 0) {
    const isUnderWay = state.generation.number > 0 && (await hasMore(deps));
    if (!isUnderWay) {
      if (state.generation.number >= options.generationsMax) return;
      await clock.sleep(pause_ms, signal);
      await state.nextGeneration();
    }
    await lookAtGeneration(deps, await knownTimes(deps, deps.signal));
  }
}

/** Whether a process ended in the middle of the current generation. */
async function hasMore({ state }: ComparisonDependencies): Promise<boolean> {
  const first = await state.suspects(state.generation.number - 1, state.generation.offset).next();
  return first.done !== true;
}

async function lookAtGeneration(deps: ComparisonDependencies, times: KnownTimes): Promise<void> {
  const { state, signal } = deps;
  let portion: StoredSuspect[] = [];
  let end = state.generation.offset;
  const look = async () => {
    signal.throwIfAborted();
    if (portion.length > 0) await lookAtPortion(deps, portion, end, times);
    portion = [];
  };
  for await (const next of state.suspects(state.generation.number - 1, state.generation.offset)) {
    portion.push(next.suspect);
    end = next.end;
    if (portion.length >= portionMax) await look();
  }
  await look();
}

async function lookAtPortion(
  deps: ComparisonDependencies,
  portion: readonly StoredSuspect[],
  end: number,
  times: KnownTimes,
): Promise<void> {
  const { state, clock, retrying, signal, options } = deps;
  const suspects: StoredSuspect[] = [];
  const mismatches: { collection: number; mismatch: Mismatch }[] = [];
  let agreed = 0;
  let proven = 0;
  for (const group of groupsOf(portion)) {
    const collection = state.collection(group.collection);
    const sides = lookupSides(deps, collection, times);
    const looked = await retrying(
      'check again',
      () => checkAgain(group.suspects, sides, options.rule, clock.now_ms()),
      signal,
    );
    agreed += looked.agreed;
    proven += group.suspects.length - looked.agreed - looked.suspects.length;
    suspects.push(
      ...looked.suspects.map((suspect) => ({ collection: collection.number, partition: 0, attempt: 0, ...suspect })),
    );
    mismatches.push(...looked.proven.map((mismatch) => ({ collection: collection.number, mismatch })));
  }
  await state.recordLook(end, { suspects, mismatches, agreed, proven });
}

/** Suspects of one collection together, as many as one command looks up. */
function groupsOf(portion: readonly StoredSuspect[]): { collection: number; suspects: StoredSuspect[] }[] {
  const open = new Map<number, StoredSuspect[]>();
  const groups: { collection: number; suspects: StoredSuspect[] }[] = [];
  for (const suspect of portion) {
    const known = open.get(suspect.collection);
    if (known !== undefined && known.length < lookupsMax) {
      known.push(suspect);
      continue;
    }
    const suspects = [suspect];
    open.set(suspect.collection, suspects);
    groups.push({ collection: suspect.collection, suspects });
  }
  return groups;
}
