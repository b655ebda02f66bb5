import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { commitTable } from '../../../../src/lifecycle/migration/steps.js';
import { currentStepOf } from '../../../../src/lifecycle/instance/current-step.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import type { TaskRecord } from '../../../../src/store/task-record.js';
import { reversalWith, verificationWith, viewWith } from '../../model/migration-state.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';

const time = Timestamp.fromBits(1, 100);
const began = new Date('2026-01-31T12:00:00Z');

type Changes = Partial<MigrationRecord>;

function viewOf(record: Changes, tasks: readonly Partial<TaskRecord>[]): MigrationView {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    verification: { enabled: true },
    enableUserWriteBlocking: true,
  });
  return viewWith(
    { options, taskIds: ['a', 'b'], ...record },
    [0, 1].map((at) => tasks[at] ?? {}),
  );
}

function stepOf(
  record: Changes,
  tasks: readonly Partial<TaskRecord>[],
  state: 'COMMITTING' | 'REVERSING' = 'COMMITTING',
) {
  return currentStepOf(viewOf({ stepBeganAt: began, ...record }, tasks), state);
}

const round = { round: 1, time, sealed: false, catalogEpoch: null };
const sealed = { commit: { ...round, sealed: true, catalogEpoch: 1 } };
const look = (restored: boolean, number: number) => ({
  verification: { number, source: time, destination: time, restored },
});
const drained = (changes: Partial<NonNullable<TaskRecord['drained']>> = {}) => ({
  drained: { round: 1, eventsAbove: 0, ...changes },
});

it('follows a commit through the fields that the leader writes, in the order of the steps', () => {
  const committing = { phase: 'committing' as const };
  const restoring = { ...committing, ...sealed, attributesRestoring: true };
  const requested = { commitRequested: true, requestedAt: began };
  const states: [Changes, Partial<TaskRecord>[], string][] = [
    [{ phase: 'syncing' }, [requested, {}], 'have not taken the commit: b.'],
    [committing, [], 'blocks writes of users on the source'],
    [{ ...committing, commit: round }, [drained()], '1 of 2 are done'],
    [
      { ...committing, ...sealed, ...look(false, 1) },
      [{ verification: verificationWith({ answered: 1 }) }],
      '1 of 2 are done',
    ],
    [{ ...restoring, ...look(false, 1) }, [], 'makes indexes unique'],
    [{ ...restoring, ...look(true, 2) }, [], '0 of 2 are done'],
    [{ ...restoring, ...look(true, 2), lastLook: time }, [drained({ lookedTo: time })], '1 of 2 are done'],
    [{ phase: 'opening', ...sealed }, [], 'opens the destination'],
    [{ phase: 'opening', ...sealed, canWrite: true }, [], 'starts the balancers'],
  ];
  const steps = states.map(([record, tasks]) => stepOf(record, tasks));
  expect(steps.map((step, at) => [step?.name, states[at]?.[0].phase])).toEqual(
    commitTable.map(({ shown, phase }) => [shown, phase]),
  );
  expect(steps.map((step) => step?.number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(steps.map((step) => step?.since)).toEqual(steps.map(() => began.toISOString()));
  for (const [at, [, , words]] of states.entries()) expect(steps[at]?.description).toContain(words);
});

it('leaves out the verifier when it is off, and knows no time that an earlier release has not recorded', () => {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    verification: { enabled: false },
  });
  const record = { phase: 'committing' as const, options };
  expect(stepOf({ ...record, ...sealed }, [])).toMatchObject({ name: 'restoreIndexes', number: 4, count: 7 });
  expect(currentStepOf(viewOf(record, []), 'COMMITTING')).toMatchObject({
    name: 'stopWriters',
    since: null,
    description: 'The leader waits until transactions that are open on the source have ended.',
  });
});

it('says which instances a reverse waits for, and what the leader does after them', () => {
  const reversal = reversalWith();
  const taken = { reverseRequested: 0, requestedAt: began };
  const reverse = (record: Changes, tasks: Partial<TaskRecord>[]) => stepOf(record, tasks, 'REVERSING');
  expect(reverse({ phase: 'committed', reversal }, [taken, {}])).toMatchObject({
    name: 'awaitInstances',
    number: 1,
    count: 3,
    since: began.toISOString(),
  });
  expect(reverse({ phase: 'committed', reversal }, [taken, taken])?.name).toBe('swapClusters');
  expect(reverse({ phase: 'reversing' }, [])).toMatchObject({ name: 'prepareDestination', since: began.toISOString() });
  expect(currentStepOf(viewWith(), 'RUNNING')).toBeNull();
});
