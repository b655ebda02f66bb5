import { carriedKinds } from '@convoy/api/contract/carry';
import { within } from '../../async/clock.js';
import { mapBounded } from '../../async/together.js';
import { nameSome } from '../../catalog/name-some.js';
import { failureName } from '../../cluster/failure.js';
import { carriedBy, CarryChoice, carryProblems } from '../../inventory/carry-choice.js';
import {
  compareInventories,
  describeLeftBehind,
  itemsToCarry,
  leftBehind,
  leftBehindWarning,
} from '../../inventory/compare-inventories.js';
import type { Item, Payload } from '../../inventory/item.js';
import { makeItem } from '../../inventory/make-item.js';
import { type InventoryOf, readBoth } from '../../inventory/take-inventory.js';
import { CarryJournal, type JournalledItem } from '../../store/carry-journal.js';
import { isOpeningDecided, type MigrationRecord } from '../../store/migration-record.js';
import { keepsBalancer, swapsOf } from '../../store/reversal.js';
import { type BothClusters, type LeaderDependencies, recordWarning } from '../migration/migration-dependencies.js';
import { cannotCarryWarning } from '../../store/migration-view.js';

/** Name of the warning about items that the destination has refused. */
export const notCarriedWarning = 'notCarried';

/** Items that one warning names. */
const namedMax = 20;
/**
 * Time for all items of a step: applications wait for the destination, and what is missing then can be made by hand.
 * It is enough for an election.
 */
const step_ms = 120_000;

/** Users made at once, after their roles: there may be thousands, and each takes three majority writes and reads. */
const usersParallel = 8;

/** Users and their roles: what a commit carries before it is decided, since it changes nothing for anybody else. */
const accessKinds: ReadonlySet<string> = new Set(['users', 'roles']);

/** The users to make, by their entries in the journal: only the leader's memory has their credentials. */
export type PlannedUsers = ReadonlyMap<string, Payload>;

/**
 * Reads what the commit takes along, and writes it into the journal: from here on it does not depend on the source. A
 * later leader reads it anew.
 */
export async function planCarry(deps: LeaderDependencies, signal: AbortSignal): Promise<PlannedUsers> {
  const { runtime, records, watch, metadata, leaderEpoch } = deps;
  const { record } = watch.view;
  const choice = new CarryChoice(record.options, swapsOf(record) % 2 === 1);
  if (choice.kinds.size === 0) return new Map();
  const of = inventoryOfMigration(deps, record);
  const found = await runtime.retrying('read the inventory', () => readBoth(of, signal), signal);
  const rows = compareInventories(found.source, found.destination, choice);
  const items = itemsToCarry(rows);
  const entries = await new CarryJournal(metadata).write(leaderEpoch, items.map(journalled), signal);
  await records.updateAsLeader(leaderEpoch, { carryEpoch: leaderEpoch }, signal);
  await watch.refresh(signal);
  const left = leftBehind(rows, choice);
  await recordWarning(deps, leftBehindWarning, left.length === 0 ? null : describeLeftBehind(left), signal);
  await recordWarning(deps, cannotCarryWarning, null, signal);
  const counts = carriedKinds.map(
    (kind) => [kind, items.filter((item) => carriedBy[item.kind] === kind).length] as const,
  );
  runtime.logger.info({ event: 'carryPlanned', items: Object.fromEntries(counts) }, 'the commit takes these along');
  return new Map(entries.map(({ _id }, position) => [_id, payloadOf(items[position])]));
}

function journalled({ kind, name, payload }: Item): { kind: string; name: string; content: Payload | null } {
  return { kind, name, content: payload?.type === 'user' ? null : payload };
}

function payloadOf(item: Item | undefined): Payload {
  if (item?.payload == null) throw new Error('An item without content cannot be carried.');
  return item.payload;
}

/** Makes roles and users on the destination. */
export async function carryAccess(deps: LeaderDependencies, users: PlannedUsers, signal: AbortSignal): Promise<void> {
  const contentOf = ({ _id, content }: JournalledItem): object | null => content ?? users.get(_id) ?? null;
  await carryEach(deps, ({ kind }) => accessKinds.has(kind), contentOf, signal);
}

/** Makes everything else, right before the destination takes writes. Nothing of it depends on the source. */
export async function carrySettings(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  await carryEach(
    deps,
    ({ kind }) => !accessKinds.has(kind),
    ({ content }) => content,
    signal,
  );
}

async function carryEach(
  deps: LeaderDependencies,
  isMeant: (item: JournalledItem) => boolean,
  contentOf: (item: JournalledItem) => object | null,
  signal: AbortSignal,
): Promise<void> {
  const { watch, metadata, runtime } = deps;
  const { carryEpoch } = watch.view.record;
  if (carryEpoch === undefined || carryEpoch === null) return;
  const journal = new CarryJournal(metadata);
  const planned = (await journal.read(carryEpoch, signal)).filter((item) => isMeant(item) && item.state === 'planned');
  const end_ms = runtime.clock.monotonic_ms() + step_ms;
  const carry = async (item: JournalledItem): Promise<void> => {
    const left_ms = Math.max(0, end_ms - runtime.clock.monotonic_ms());
    const failure = await carryOne(deps, item, contentOf(item), left_ms, signal);
    await journal.settle(item._id, failure === null ? 'carried' : 'failed', failure, signal);
    if (failure !== null)
      runtime.logger.warn({ event: 'notCarried', kind: item.kind, failure }, 'an item was not carried');
  };
  const isUser = ({ kind }: JournalledItem): boolean => kind === 'users';
  for (const item of planned) if (!isUser(item)) await carry(item);
  await mapBounded(planned.filter(isUser), usersParallel, carry);
  if (planned.length > 0) await reportFailed(deps, journal, carryEpoch, signal);
}

/** @returns why it failed, in the server's words; null if it is made */
async function carryOne(
  { runtime, destination, records, leaderEpoch }: LeaderDependencies,
  item: JournalledItem,
  content: object | null,
  left_ms: number,
  signal: AbortSignal,
): Promise<string | null> {
  if (content === null) return 'it was not read';
  if (left_ms === 0) return 'no time was left';
  await records.confirmLeader(leaderEpoch, signal);
  const make = (each: AbortSignal): Promise<void> =>
    runtime.retrying(`carry ${item.kind}`, () => makeItem(destination, content as Payload, each), each);
  try {
    await within(left_ms, runtime.clock, make, signal);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return failureName(error);
  }
}

async function reportFailed(
  deps: LeaderDependencies,
  journal: CarryJournal,
  epoch: number,
  signal: AbortSignal,
): Promise<void> {
  const failed = (await journal.read(epoch, signal)).filter(({ state }) => state === 'failed');
  const named = failed.map(({ kind, name, failure }) => `${kind} ${name} (${failure ?? ''})`);
  const description =
    `The destination has not taken along: ${nameSome(named, namedMax)}. Make it by hand: GET /api/v1/inventory lists ` +
    'everything with what to do.';
  await recordWarning(deps, notCarriedWarning, failed.length === 0 ? null : description, signal);
}

/** Interval between looks: people change users and zones, and a look takes some commands. */
const look_ms = 60_000;
/** Interval after a look that failed: a server that was replaced, or a network, mostly answers again by then. */
const lookAgain_ms = 5_000;

/**
 * Looks again and again, until the signal, at what the commit would leave behind, and whether it could take along what
 * `carry` names. Warnings say what it finds, and the second one blocks a commit. So does the first look of a direction
 * until it is made or has failed. A look that fails, or takes too long, is repeated.
 */
export async function followInventory(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime } = deps;
  while (!signal.aborted) {
    const isRead = await within(look_ms, runtime.clock, (each) => look(deps, each), signal).then(
      () => true,
      (error: unknown) => {
        signal.throwIfAborted();
        runtime.logger.debug({ event: 'inventoryNotRead', err: error }, 'the inventory could not be read');
        return false;
      },
    );
    await noteLook(deps, signal);
    await runtime.clock.sleep(isRead ? look_ms : lookAgain_ms, signal);
  }
}

/** From here on no commit waits for a look. */
async function noteLook(
  { watch, records, fleet, leaderEpoch }: LeaderDependencies,
  signal: AbortSignal,
): Promise<void> {
  if (watch.view.record.inventoryLook !== 'pending') return;
  await records.updateAsLeader(leaderEpoch, { inventoryLook: 'done' }, signal);
  await watch.refresh(signal);
  fleet.wake();
}

async function look(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { source, destination, watch } = deps;
  const { record } = watch.view;
  const found = await readBoth(inventoryOfMigration(deps, record), signal);
  const choice = new CarryChoice(record.options, swapsOf(record) % 2 === 1);
  const left = leftBehind(compareInventories(found.source, found.destination, choice), choice);
  await recordWarning(deps, leftBehindWarning, left.length === 0 ? null : describeLeftBehind(left), signal);
  const problems = carryProblems({ source, destination }, found, choice);
  await recordWarning(deps, cannotCarryWarning, problems.length === 0 ? null : problems.join(' '), signal);
}

/** What of a migration its inventory depends on. */
export function inventoryOfMigration(
  { runtime, source, destination }: BothClusters,
  record: MigrationRecord,
): InventoryOf {
  const { phase, reversal, options } = record;
  return {
    source,
    destination,
    request: options,
    turns: swapsOf(record),
    reverses: phase === 'committed' && !!reversal && !reversal.isOver,
    former: formerBalancers(record),
    now_ms: runtime.clock.now_ms(),
  };
}

/**
 * While a migration holds the balancers, their settings say nothing about what an operator wants. It holds the
 * destination's as long as it can be reversed.
 */
function formerBalancers(record: MigrationRecord): InventoryOf['former'] {
  const { balancers, reversal } = record;
  if (balancers === null) return null;
  const of = (side: 'source' | 'destination') => ({
    isOn: balancers[side],
    // Who stops a balancer turns off its AutoMerger as well: that says nothing about what is wanted.
    isMergerOff: balancers[side] && balancers.autoMergersOff?.[side] === true,
  });
  if (isOpeningDecided(record))
    return { source: null, destination: reversal && !reversal.isOver ? of('destination') : null };
  return { source: keepsBalancer(record) ? null : of('source'), destination: of('destination') };
}
