import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient } from '../../cluster/node-client.js';
import { classify, codeOf, failureName, unauthorizedCode } from '../../cluster/failure.js';
import { within } from '../../cluster/within.js';
import { setWriteBlock, standingBlock } from '../../cluster/write-block.js';
import type { MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import type { MigrationDependencies } from './migration-dependencies.js';
import type { Runtime } from './runtime.js';

/** What the clusters' blocks of user writes have to be; null for one that is not Convoy's to decide. */
export interface WantedBlocks {
  source: boolean | null;
  destination: boolean | null;
}

const undecided: WantedBlocks = { source: null, destination: null };

/** The end of the work leaves so long for looking whether what was sent is still wanted: a state that cannot be reached must not hold a stop up. */
const lookAfterEnd_ms = 10_000;
/**
 * A block that is set, or lifted, is asked to be so for this long before it is asked anew. Servers set it once no transaction is
 * open: these live for a minute (`transactionLifetimeLimitSeconds`), and are looked for every half. Who asks anew stands in line anew.
 */
const attempt_ms = 120_000;
/** What servers answer when a block stands for another reason, among others (IllegalOperation). */
const illegalOperation = 20;

/**
 * Which cluster refuses the writes of users, by what is recorded of the migration: the destination until it is opened,
 * the source from the commit on. A failure before the opening gives the source back and leaves the destination closed.
 */
export function wantedBlocks({
  options,
  phase,
  failure,
}: Pick<MigrationRecord, 'options' | 'phase' | 'failure'>): WantedBlocks {
  if (!options.enableUserWriteBlocking) return undecided;
  const isCommitting = phase === 'committing';
  if (failure !== null) return { source: isCommitting ? false : null, destination: true };
  if (phase === 'opening' || phase === 'committed') return { source: true, destination: false };
  return { source: isCommitting ? true : null, destination: true };
}

/** As what a migration has a cluster now: its clusters swap their roles when it is reversed. */
export function sideOf(
  { source, destination }: Pick<MigrationRecord, 'source' | 'destination'>,
  clusterId: string,
): keyof WantedBlocks | null {
  if (source.clusterId === clusterId) return 'source';
  return destination.clusterId === clusterId ? 'destination' : null;
}

/** What the block of the source, or the destination, of one direction is brought in line with. */
export interface BlockDependencies extends Pick<MigrationDependencies, 'source' | 'destination'> {
  runtime: Pick<Runtime, 'retrying'>;
  records: Pick<MigrationRecords, 'read'>;
}

/** A block that is asked for during a bounded time, and whose failure ends nothing. */
export interface BlockWish {
  clock: Pick<Runtime['clock'], 'sleep'>;
  within_ms: number;
  /** @param failure null when the cluster has done it */
  onOutcome: (failure: { error: unknown } | null) => void;
}

/**
 * Brings a cluster's block to what the record wants of that cluster, and looks at the record once more: a process that was
 * frozen before its command went out, and thaws when others have gone on, takes it back. So does one whose migration was
 * cleaned up meanwhile: nobody is left who would lift its block.
 * @param wish null for a block that is needed, and asked for as long as the retry policy says; its time is that of the command
 *   alone, not of reading the record
 * @throws ConvoyError `writeBlockingFailed` when the cluster refuses, unless it is a wish
 */
export async function bringBlock(
  deps: BlockDependencies,
  side: keyof WantedBlocks,
  signal: AbortSignal,
  wish: BlockWish | null = null,
): Promise<void> {
  const cluster = deps[side];
  const read = async (each: AbortSignal): Promise<boolean | null> => {
    const record = await deps.records.read(each);
    const present = record === null ? null : sideOf(record, cluster.clusterId);
    return record === null || present === null ? null : wantedBlocks(record)[present];
  };
  let isBlocked = false;
  let decided = await read(signal);
  signal.throwIfAborted();
  // What was sent is looked at also by a process whose work ends meanwhile, as that of a leader that thaws does.
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

async function send(
  { retrying }: Pick<Runtime, 'retrying'>,
  cluster: ClusterClient,
  wanted: boolean,
  wish: BlockWish | null,
  signal: AbortSignal,
): Promise<void> {
  const repeat = (until: AbortSignal, attempt?: AbortSignal): Promise<void> =>
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

/** Gives work a signal that ends a while after another one, from now on where that one has ended already. */
async function outlasting<T>(signal: AbortSignal, work: (lasting: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const end = (): void => void setTimeout(() => ended.abort(signal.reason), lookAfterEnd_ms).unref();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  try {
    return await work(ended.signal);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/**
 * Sets or lifts a cluster's block. Not cut short by the end of the work: a block must not take effect after somebody else
 * has lifted it.
 * @param attempt ends it when it takes too long
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
    ? ' Give the user of its connection string the action setUserWriteBlockMode, which the roles backup and restore have, and repeat this.'
    : '';
}

/** Somebody else may lift a block at any time: it is no substitute for Convoy's own. */
async function heldByAnother(cluster: ClusterClient, signal: AbortSignal): Promise<string> {
  const reason = (await standingBlock(cluster, { signal }))?.foreignReason ?? null;
  return reason === null
    ? ''
    : ` They are blocked for the reason ${reason}, and not by Convoy: have that block lifted by who has set it, with setUserWriteBlockMode and this reason.`;
}

/** What a failed migration has left of the blocks, or what one has that goes on without a failed process; for the failure's description. */
export function blocksAfterFailure({ options, phase, failure, sourceReleased }: MigrationRecord): string {
  if (phase === 'opening') return ' The commit is decided and only has to be finished: start the instances again.';
  if (!options.enableUserWriteBlocking) return '';
  if (failure === null) {
    return phase === 'committing'
      ? ' The source refuses the writes of users until the commit has ended, or convoy cleanup gives the migration up.'
      : '';
  }
  const closed = ' The destination refuses the writes of users until convoy cleanup or convoy unblock.';
  if (phase !== 'committing') return closed;
  return sourceReleased
    ? ` The source takes writes again.${closed}`
    : ` The source still refuses the writes of users: Convoy allows them as soon as it reaches it, and convoy unblock does so at once.${closed}`;
}
