import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { within } from '../../async/clock.js';
import { classify, codeOf, failureName, unauthorizedCode } from '../../cluster/failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isBlocked, setWriteBlock, standingBlock } from '../../cluster/write-block.js';
import type { MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import type { BothClusters, MigrationDependencies } from './migration-dependencies.js';
import type { Runtime } from './runtime.js';

/** The wanted state of each cluster's block of user writes; null where Convoy does not decide. */
export interface WantedBlocks {
  source: boolean | null;
  destination: boolean | null;
}

const undecided: WantedBlocks = { source: null, destination: null };

/**
 * How long an ending process may still check whether its command is wanted. An unreachable state must not delay a stop.
 */
const lookAfterEnd_ms = 10_000;
/**
 * Time for one command that sets or lifts a block. Servers block once no transaction is open. Transactions live for a
 * minute (`transactionLifetimeLimitSeconds`), and servers look for expired ones every 30 s. A new command waits from
 * the start again.
 */
const attempt_ms = 120_000;
/** Servers answer this (IllegalOperation), among other cases, when a block with another reason is active. */
const illegalOperation = 20;

/**
 * Which cluster refuses user writes, by the migration's record. The destination does until it opens, which it does only
 * once the time is recorded from which a reverse reads. The source does from the commit on. A failure before the
 * opening releases the source and leaves the destination closed.
 */
export function wantedBlocks(record: MigrationRecord): WantedBlocks {
  const blocked = blockedClusters(record.options.enableUserWriteBlocking);
  if (!blocked.destination) return undecided;
  const wanted = wantedByPhase(record);
  return blocked.source ? wanted : { ...wanted, source: null };
}

function wantedByPhase({ phase, failure, reversal }: MigrationRecord): WantedBlocks {
  const isCommitting = phase === 'committing';
  if (failure !== null) return { source: isCommitting ? false : null, destination: true };
  if (phase === 'opening') return { source: true, destination: reversal?.openedAt === null };
  if (phase === 'committed') return { source: true, destination: false };
  return { source: isCommitting ? true : null, destination: true };
}

/** The role of a cluster in the migration now: a reverse swaps the roles. */
export function sideOf({ source, destination }: MigrationRecord, clusterId: string): keyof WantedBlocks | null {
  if (source.clusterId === clusterId) return 'source';
  return destination.clusterId === clusterId ? 'destination' : null;
}

/** A block that a caller asks for during a bounded time, and whose failure ends nothing. */
export interface BlockWish {
  clock: Runtime['clock'];
  within_ms: number;
  /** @param failure null when the cluster has carried it out */
  onOutcome: (failure: { error: unknown } | null) => void;
}

/**
 * Brings a cluster's block to what the record wants, then reads the record again. A process that was frozen before its
 * command went out thus takes it back, if others have continued meanwhile. So does a process whose migration was
 * cleaned up meanwhile: nobody else would lift its block.
 * @param wish null for a required block, which is retried as long as the retry policy says. A wish's time covers the
 *   command alone, not the read of the record.
 * @throws ConvoyError `writeBlockingFailed` when the cluster refuses, unless it is a wish
 */
export async function applyWriteBlock(
  deps: BothClusters & { records: MigrationRecords },
  side: keyof WantedBlocks,
  signal: AbortSignal,
  wish: BlockWish | null = null,
): Promise<void> {
  const cluster = deps[side];
  const read = async (each: AbortSignal) => {
    const record = await deps.records.read(each);
    const present = record === null ? null : sideOf(record, cluster.clusterId);
    return record === null || present === null ? null : wantedBlocks(record)[present];
  };
  let isBlocked = false;
  let decided = await read(signal);
  signal.throwIfAborted();
  // A process that is ending, such as a leader that thaws, checks what it has sent as well.
  for (;;) {
    const wanted: boolean | null = decided ?? (isBlocked ? false : null);
    if (wanted === null) break;
    await outlasting(signal, (each) => send(deps.runtime, cluster, wanted, wish, each));
    isBlocked = wanted;
    decided = await outlasting(signal, read);
    if (decided === wanted) break;
  }
  signal.throwIfAborted();
}

/**
 * Whether the source has kept refusing user writes, where it should. If its block is gone, it is set again: writes may
 * have come in between, which the caller has to look for.
 * @throws ConvoyError `writeBlockingFailed` when the cluster refuses
 */
export async function keptClosed(deps: MigrationDependencies, signal: AbortSignal): Promise<boolean> {
  const { runtime, source, watch } = deps;
  if (wantedBlocks(watch.view.record).source !== true) return true;
  const look = () => isBlocked(source, { signal });
  // Who may not see the block cannot miss it: the command that set it has waited for a majority.
  if ((await runtime.retrying('look at the block of user writes', look, signal)) !== false) return true;
  runtime.logger.warn(
    { event: 'sourceBlockGone', cluster: source.name },
    'somebody has allowed user writes on the source; they are blocked again',
  );
  await applyWriteBlock(deps, 'source', signal);
  return false;
}

async function send(
  { retrying }: Runtime,
  cluster: ClusterClient,
  wanted: boolean,
  wish: BlockWish | null,
  signal: AbortSignal,
): Promise<void> {
  const repeat = (until: AbortSignal, attempt?: AbortSignal) =>
    retrying(`${wanted ? 'block' : 'allow'} user writes`, () => setOrExplain(cluster, wanted, attempt), until);
  if (wish === null) return repeat(signal);
  const { clock, within_ms, onOutcome } = wish;
  onOutcome(
    await within(within_ms, clock, (each) => repeat(each, each), signal).then(
      () => null,
      (error: unknown) => ({ error }),
    ),
  );
}

/** Gives work a signal that aborts a while after another one; counted from now if that one is already aborted. */
async function outlasting<T>(signal: AbortSignal, work: (lasting: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const end = () => void setTimeout(() => ended.abort(signal.reason), lookAfterEnd_ms).unref();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  try {
    return await work(ended.signal);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/**
 * Sets or lifts a cluster's block. The end of the work does not cut it short: a block must not take effect after
 * somebody else has lifted it.
 * @param attempt aborts it when it takes too long
 * @throws ConvoyError `writeBlockingFailed` when the cluster refuses
 */
export async function setOrExplain(
  cluster: ClusterClient,
  blocked: boolean,
  attempt = AbortSignal.timeout(attempt_ms),
): Promise<void> {
  try {
    await setWriteBlock(cluster, blocked, { signal: attempt });
  } catch (error) {
    if (codeOf(error) === null || classify(error) === 'retryable') throw error;
    const what = blocked ? 'could not be blocked' : 'could not be allowed again';
    throw new ConvoyError(
      'writeBlockingFailed',
      `User writes on ${cluster.name} ${what}: ${failureName(error)}.${await remedyOf(error, cluster, attempt)}`,
      { cause: error },
    );
  }
}

async function remedyOf(error: unknown, cluster: ClusterClient, signal: AbortSignal): Promise<string> {
  const code = codeOf(error);
  if (code === illegalOperation) return heldByAnother(cluster, signal);
  return code === unauthorizedCode
    ? ' Give the user of its connection string the action setUserWriteBlockMode, which the roles backup ' +
        'and restore have, and repeat this.'
    : '';
}

/** Anybody may lift another block at any time, so it cannot replace Convoy's own. */
async function heldByAnother(cluster: ClusterClient, signal: AbortSignal): Promise<string> {
  const reason = (await standingBlock(cluster, { signal }))?.foreignReason ?? null;
  return reason === null
    ? ''
    : ` They are blocked for the reason ${reason}, and not by Convoy: ` +
        'have that block lifted by who has set it, with setUserWriteBlockMode and this reason.';
}

/**
 * The state of the blocks, as an appendix to a failure's description. An instance may also have failed alone while the
 * migration continues.
 */
export function blocksAfterFailure({ options, phase, failure, sourceReleased }: MigrationRecord): string {
  if (phase === 'opening') return ' The commit is decided and only has to be finished: start the instances again.';
  const blocked = blockedClusters(options.enableUserWriteBlocking);
  if (!blocked.destination) return '';
  if (failure === null) {
    return phase === 'committing' && blocked.source
      ? ' The source refuses the writes of users until the commit has ended, or convoy cleanup gives the migration up.'
      : '';
  }
  const closed = ' The destination refuses the writes of users until convoy cleanup or convoy unblock.';
  if (phase !== 'committing' || !blocked.source) return closed;
  return sourceReleased
    ? ` The source takes writes again.${closed}`
    : ' The source still refuses the writes of users: Convoy allows them as soon as it reaches it, and ' +
        `convoy unblock does so at once.${closed}`;
}
