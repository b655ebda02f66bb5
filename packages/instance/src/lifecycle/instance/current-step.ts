import { commitStepNames, type CurrentStep, reverseStepNames, type StepName } from '@convoy/api/contract/current-step';
import type { MigrationState } from '@convoy/api/contract/progress';
import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { nameSome } from '../../catalog/name-some.js';
import { isVerified, type MigrationRecord } from '../../store/migration-record.js';
import type { TaskRecord } from '../../store/task-record.js';
import { allTasks, isHeld, isReverseRequested, type MigrationView } from '../../store/migration-view.js';

/** A step without its place among the others. */
interface Step {
  name: StepName;
  description: string;
  since: Date | null;
}

/**
 * What a commit or a reverse does now, read from the durable state alone. So every instance says the same, and a later
 * leader continues with it.
 * @returns null in other states
 */
export function currentStepOf(view: MigrationView, state: MigrationState): CurrentStep | null {
  const { record } = view;
  if (state === 'REVERSING') return placed(reverseStep(view), reverseStepNames);
  if (state !== 'COMMITTING') return null;
  const names = commitStepNames.filter((name) => isVerified(record) || (name !== 'verify' && name !== 'verifyAgain'));
  return placed(commitStep(view), names);
}

function placed({ name, description, since }: Step, names: readonly StepName[]): CurrentStep {
  return {
    name,
    number: names.indexOf(name) + 1,
    count: names.length,
    description,
    since: since === null ? null : since.toISOString(),
  };
}

function commitStep(view: MigrationView): Step {
  const { record } = view;
  const began = (name: StepName, description: string): Step => ({
    name,
    description,
    since: record.stepBeganAt ?? null,
  });
  if (record.phase === 'syncing')
    return awaited(view, 'commit', (task) => task.commitRequested, awaitedByLeader(record));
  if (record.phase === 'opening')
    return record.canWrite
      ? began('startBalancers', 'The destination accepts writes. The leader starts the balancers that were on.')
      : began('openDestination', 'The leader opens the destination to writes.');
  const { commit, lastLook } = record;
  if (commit === null) return began('stopWriters', stopping(record));
  if (!commit.sealed) return began('applyLastChanges', applying(view, commit.round));
  const asked = isVerified(record) ? (record.verification ?? null) : null;
  if (isVerified(record) && record.attributesRestoring !== true)
    return began('verify', `Instances compare the last changes of both clusters${compared(view, asked?.number)}.`);
  if (lastLook) {
    const looked = through(view, ({ drained }) => drained?.lookedTo?.equals(lastLook) === true);
    return began('checkSource', `Instances read the source once more for late writes${looked}.`);
  }
  return asked?.restored === true
    ? began('verifyAgain', `Instances compare what the destination has changed since${compared(view, asked.number)}.`)
    : began('restoreIndexes', restoring(record));
}

function reverseStep(view: MigrationView): Step {
  const { record } = view;
  if (record.phase === 'committed')
    return awaited(view, 'reverse', (task) => isReverseRequested(record, task), {
      name: 'swapClusters',
      description: 'The leader stores the way back, and swaps source and destination.',
    });
  return {
    name: 'prepareDestination',
    description: 'The leader closes the former source to users, stops the balancers, and defers its unique indexes.',
    since: record.stepBeganAt ?? null,
  };
}

/** Until all instances have the command; then what the leader does before it writes anything. */
function awaited(
  view: MigrationView,
  command: 'commit' | 'reverse',
  hasTaken: (task: TaskRecord) => boolean,
  then: Pick<Step, 'name' | 'description'>,
): Step {
  const taken = tasksThat(view, hasTaken);
  const missing = view.record.taskIds.filter((id) => !taken.some((task) => task._id === id));
  const times = taken.flatMap(({ requestedAt }) => requestedAt?.getTime() ?? []);
  const since_ms = missing.length > 0 ? Math.min(...times) : Math.max(...times);
  const waiting: Pick<Step, 'name' | 'description'> = {
    name: 'awaitInstances',
    description:
      `These instances have not taken the ${command}: ${nameSome(missing)}. ` +
      `Check that they run, and repeat convoy ${command}.`,
  };
  return {
    ...(missing.length > 0 ? waiting : then),
    since: times.length === 0 ? null : new Date(since_ms),
  };
}

function awaitedByLeader({ indexBuilds }: MigrationRecord): Pick<Step, 'name' | 'description'> {
  return {
    name: 'stopWriters',
    description:
      indexBuilds === 'running'
        ? 'The leader builds the remaining indexes on the destination before it begins the commit.'
        : 'All instances have the commit, and the leader begins it.',
  };
}

function stopping({ options }: MigrationRecord): string {
  const until = 'until transactions that are open on the source have ended';
  return blockedClusters(options.enableUserWriteBlocking).source
    ? `The leader blocks writes of users on the source, and waits ${until}.`
    : `The leader waits ${until}.`;
}

function applying(view: MigrationView, round: number): string {
  const hasDrained = (task: TaskRecord) => task.drained?.round === round;
  const what = allTasks(view, hasDrained)
    ? 'All changes are applied. The leader compares the definitions of both clusters.'
    : `Instances apply the last changes of the source${through(view, hasDrained)}.`;
  return round > 1 ? `${what} This is round ${round}: it begins anew when the source has later writes.` : what;
}

function restoring(record: MigrationRecord): string {
  return isHeld(record)
    ? 'Documents with the same key of a unique index hold the commit. Remove those that the warning names.'
    : 'The leader makes indexes unique, hidden or expiring again, and compares the definitions of both clusters.';
}

function compared(view: MigrationView, number: number | undefined): string {
  return number === undefined ? '' : through(view, ({ verification }) => verification?.answered === number);
}

/** How many sync tasks are through, as `: 1 of 2 are done`. */
function through(view: MigrationView, isThrough: (task: TaskRecord) => boolean): string {
  return `: ${tasksThat(view, isThrough).length} of ${view.record.taskIds.length} are done`;
}

function tasksThat({ record, tasks }: MigrationView, condition: (task: TaskRecord) => boolean): TaskRecord[] {
  return record.taskIds.flatMap((id) => tasks.get(id) ?? []).filter(condition);
}
