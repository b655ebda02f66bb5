import { mapBounded } from '../../async/together.js';
import { compareFirst, type DocumentsRead, type Finding } from '../compare/first-comparison.js';
import type { KnownTimes } from '../compare/sides.js';
import type { ComparisonDependencies } from './comparison-dependencies.js';
import type { PartStats } from './comparison-journal.js';
import { type ComparedCollection, type ComparisonPartition, namesOf } from './comparison-plan.js';

/**
 * Compares everything that was not compared yet. Whatever differs at this first check is a suspect. It records what was
 * compared, so that a later process does not repeat it.
 * @throws what the clients throw after their retries, and what the state throws
 */
export async function comparePartitions(deps: ComparisonDependencies, times: KnownTimes): Promise<void> {
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
