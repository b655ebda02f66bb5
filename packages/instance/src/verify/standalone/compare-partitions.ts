import type { RawValue } from '../../bson/scan.js';
import { mapBounded } from '../../async/together.js';
import { compareByLookup } from '../compare/compare-by-lookup.js';
import { compareRange, type Finding } from '../compare/compare-range.js';
import { type ComparedCollection, type ComparisonPartition, readOf } from './compared-collection.js';
import type { KnownTimes, Side } from '../compare/sides.js';
import { type ComparisonDependencies, lookupSides } from './comparison-dependencies.js';
import type { PartStats } from './comparison-journal.js';
import { OrderedDocuments } from '../compare/ordered-documents.js';

/**
 * Compares everything that was not compared yet. Whatever differs at this first check is a suspect. It records what was
 * compared, so that a later process does not repeat it.
 * @throws what the clients throw after their retries, and what the state throws
 */
export async function comparePartitions(deps: ComparisonDependencies, times: KnownTimes): Promise<void> {
  const partitions = [...deps.state.pending.values()];
  await mapBounded(partitions, deps.options.readers, async (partition) => {
    deps.signal.throwIfAborted();
    const collection = deps.state.collection(partition.collection);
    await (collection.unordered
      ? compareUnordered(deps, collection, partition, times)
      : compareOrdered(deps, collection, partition, times));
  });
}

async function compareOrdered(
  deps: ComparisonDependencies,
  collection: ComparedCollection,
  whole: ComparisonPartition,
  times: KnownTimes,
): Promise<void> {
  const { state, clock, options, retrying, signal } = deps;
  const reading = (side: Side) =>
    new OrderedDocuments(deps[side].router, readOf(collection, whole, side, times[side]), retrying, signal);
  const [source, destination] = [reading('source'), reading('destination')];
  const attempt = state.nextAttempt();
  let partition = whole;
  let part = new PartCount(source, destination);
  let recorded_ms = clock.monotonic_ms();
  try {
    await compareRange(source, destination, {
      async found(findings) {
        part.suspects += findings.length;
        await addSuspects(deps, partition, attempt, findings);
      },
      async reached(next: RawValue) {
        if (clock.monotonic_ms() - recorded_ms < options.record_ms) return;
        partition = await state.split(partition, attempt, part.stats(), next);
        part = new PartCount(source, destination);
        recorded_ms = clock.monotonic_ms();
      },
    });
  } finally {
    await Promise.all([source.close(), destination.close()]);
  }
  await state.finish(partition, attempt, part.stats());
}

/** What was read since a moment. */
class PartCount {
  suspects = 0;
  readonly #begin: Omit<PartStats, 'suspects'>;

  constructor(
    private readonly source: OrderedDocuments,
    private readonly destination: OrderedDocuments,
  ) {
    this.#begin = this.#read();
  }

  stats(): PartStats {
    const now = this.#read();
    return {
      sourceDocuments: now.sourceDocuments - this.#begin.sourceDocuments,
      destinationDocuments: now.destinationDocuments - this.#begin.destinationDocuments,
      bytes: now.bytes - this.#begin.bytes,
      suspects: this.suspects,
    };
  }

  #read(): Omit<PartStats, 'suspects'> {
    const { source, destination } = this;
    return {
      sourceDocuments: source.takenDocuments,
      destinationDocuments: destination.takenDocuments,
      bytes: source.bytes + destination.bytes,
    };
  }
}

/** Compares a collection without a known order as a whole; a failure restarts it from the beginning. */
async function compareUnordered(
  deps: ComparisonDependencies,
  collection: ComparedCollection,
  partition: ComparisonPartition,
  times: KnownTimes,
): Promise<void> {
  const { state, retrying, signal } = deps;
  const sides = lookupSides(deps, collection, times);
  await retrying(
    'compare by lookup',
    async () => {
      const attempt = state.nextAttempt();
      const stats: PartStats = { sourceDocuments: 0, destinationDocuments: 0, bytes: 0, suspects: 0 };
      await compareByLookup(sides.source, sides.destination, {
        async found(findings) {
          stats.suspects += findings.length;
          await addSuspects(deps, partition, attempt, findings);
        },
        compared(batch) {
          stats.sourceDocuments += batch.sourceDocuments;
          stats.destinationDocuments += batch.destinationDocuments;
          stats.bytes += batch.bytes;
        },
      });
      await state.finish(partition, attempt, stats);
    },
    signal,
  );
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
