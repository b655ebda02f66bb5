import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import { blockedBy, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import type { Progress, VerificationSideProgress } from '@convoy/api/contract/progress';
import type { VerificationPhase } from '@convoy/api/contract/verification';
import { nameSome } from '../../catalog/name-some.js';
import type { LastingDifferences, TaskVerification } from '../../store/task-record.js';
import type { Side } from '../../verify/compare/sides.js';
import { rereadsMax } from '../../verify/embedded/stored-mismatch.js';
import type { TaskVerifier } from '../../verify/embedded/task-verifier.js';
import { offeredLagMax_seconds } from './task-stats.js';

/** The stats of one sync task's verifier. */
export type VerificationStats = TaskVerification['stats'];

/** The present stats of a verifier. */
export function verificationStats(verifier: TaskVerifier, readiness: VerificationReadiness): VerificationStats {
  const { hasCompared, readLag_seconds, lasting } = verifier;
  const counts = countsOf(verifier);
  const leftDocuments = counts.estimatedDocumentCount - counts.hashedDocumentCount;
  const blocker = readiness.judge({ hasCompared, leftDocuments, readLag_seconds, lasting });
  const sideOf = (side: Side) => ({ ...counts, lagTimeSeconds: verifier.lag_seconds(side) });
  return { blocker, source: sideOf('source'), destination: sideOf('destination') };
}

/**
 * One count for both sides: a document that one side lacked when it was compared counts for both. Both sides are read
 * at different times, so the documents that each one showed differ while the data is the same.
 */
function countsOf({ store, hasCompared }: TaskVerifier) {
  let [estimated, hashed, scanned, total] = [0, 0, 0, 0];
  let hasStarted = false;
  for (const stored of store.collections) {
    const { collection, plan, parts } = stored;
    const own = store.isOwn(stored);
    const compared = parts.reduce((sum, part) => sum + larger(part), 0);
    const expected =
      plan === null
        ? own
          ? collection.documentCount
          : 0
        : (larger(plan.documents) * parts.length) / (plan.bounds.length + 1);
    const isDone = plan !== null && parts.every(({ done }) => done);
    hashed += compared;
    estimated += isDone ? compared : Math.max(compared, Math.round(expected));
    if (own) total += 1;
    if (own && isDone) scanned += 1;
    hasStarted ||= parts.length > 0;
  }
  const phase: VerificationPhase = hasCompared ? 'stream hashing' : hasStarted ? 'initial hashing' : 'not started';
  return {
    estimatedDocumentCount: estimated,
    hashedDocumentCount: hashed,
    phase,
    scannedCollectionCount: scanned,
    totalCollectionCount: total,
  };
}

function larger({ source, destination }: Readonly<Record<Side, number>>): number {
  return Math.max(source, destination);
}

/** Documents of one instance's tasks that differ with no change on its way. */
export function lastingMismatches(tasks: readonly (VerificationStats | null)[]): number {
  return tasks.reduce((sum, stats) => {
    const blocker = stats?.blocker ?? null;
    return sum + (blocker?.reason === 'mismatches' ? (blocker.value ?? 0) : 0);
  }, 0);
}

const notStarted: VerificationSideProgress = {
  estimatedDocumentCount: 0,
  hashedDocumentCount: 0,
  lagTimeSeconds: 0,
  phase: 'not started',
  scannedCollectionCount: 0,
  totalCollectionCount: 0,
};

/**
 * Both sides of the contract's `verification`, for one instance's tasks together.
 * @param isOver the migration is committed: no side lags any more
 */
export function verificationOf(
  tasks: readonly (VerificationStats | null)[],
  isOver: boolean,
): NonNullable<Progress['verification']> {
  const fold = (side: Side) =>
    foldSides(
      tasks.map((stats) => stats?.[side] ?? notStarted),
      isOver,
    );
  return { source: fold('source'), destination: fold('destination') };
}

const phaseOrder = ['not started', 'initial hashing', 'stream hashing'] as const;

function foldSides(tasks: readonly VerificationSideProgress[], isOver: boolean): VerificationSideProgress {
  const sum = (count: (side: VerificationSideProgress) => number | null) =>
    tasks.reduce((total, task) => total + (count(task) ?? 0), 0);
  return {
    estimatedDocumentCount: sum((task) => task.estimatedDocumentCount),
    hashedDocumentCount: sum((task) => task.hashedDocumentCount),
    lagTimeSeconds: isOver ? 0 : Math.max(0, ...tasks.map((task) => task.lagTimeSeconds ?? 0)),
    phase: phaseOrder.find((phase) => tasks.some((task) => task.phase === phase)) ?? 'not started',
    scannedCollectionCount: sum((task) => task.scannedCollectionCount),
    totalCollectionCount: sum((task) => task.totalCollectionCount),
  };
}

/** The verifier compares this many documents of later collections within a few seconds: a commit can wait for them. */
export const leftDocumentsMax = 100_000;

/** How far the verifier of a sync task is. */
export interface VerifierProgress {
  hasCompared: boolean;
  /** Documents that are known and not compared yet. */
  leftDocuments: number;
  /** Lag of reading the change streams. Keys that users write all the time wait for another look, and do not count. */
  readLag_seconds: number;
  /** Differences with no change on its way: a commit would fail. */
  lasting: LastingDifferences;
}

/**
 * Whether a final comparison would be short. Collections that come and go do not withdraw an offer, nor does a lag that
 * swings around the limit.
 */
export class VerificationReadiness {
  #offered = false;

  /** @returns what a commit would wait for longest; null when a final comparison would be short */
  judge(progress: VerifierProgress): OwnBlocker | null {
    const blocker = blockerOf(progress, this.#offered ? offeredLagMax_seconds : steadyLagMax_seconds);
    this.#offered = blocker === null;
    return blocker;
  }
}

function blockerOf(
  { hasCompared, leftDocuments, readLag_seconds, lasting }: VerifierProgress,
  lagMax_seconds: number,
): OwnBlocker | null {
  if (lasting.documents > 0)
    return blockedBy('mismatches', lastingText(lasting), { value: lasting.documents, limit: 0 });
  const left = Math.max(0, leftDocuments);
  if (!hasCompared) return blockedBy('verifying', `the verifier ${leftText(left)}`, { value: left, limit: 0 });
  if (left > leftDocumentsMax) {
    const limit = grouped(leftDocumentsMax);
    const description = `the verifier has ${counted(left)} of new collections left (limit ${limit})`;
    return blockedBy('verifying', description, { value: left, limit: leftDocumentsMax });
  }
  if (readLag_seconds <= lagMax_seconds) return null;
  const description = `the verifier is ${readLag_seconds} s behind (limit ${lagMax_seconds} s)`;
  return blockedBy('verifierLag', description, { value: readLag_seconds, limit: lagMax_seconds });
}

/** What differs permanently, and how far reading it again has come. */
function lastingText({ documents, namespaces, givenUp }: LastingDifferences): string {
  const outcome =
    givenUp === 0
      ? 'and are being read again'
      : `${grouped(givenUp)} of them although they were read again ${rereadsMax} times`;
  return (
    `${counted(documents)} differ, in: ${nameSome([...namespaces].sort())}, ${outcome} (GET ` +
    '/api/v1/verification/mismatches names them)'
  );
}

function leftText(left: number): string {
  return left === 0 ? 'finishes its first comparison' : `has not compared everything: ${counted(left)} are left`;
}

/** For people: `424,231 documents`. */
function counted(documents: number): string {
  return `${grouped(documents)} documents`;
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
