import { type CommandName, commandNames } from '@convoy/api/contract/commands';
import { type MigrationState, type Progress, progressSchema } from '@convoy/api/contract/progress';
import { expect } from 'vitest';

/**
 * A state as a client distinguishes it: one of the contract's, a failed progress, or COMMITTED of a migration that was
 * started with `reversible`.
 */
export type SeenState = MigrationState | 'failed' | 'reversible';

/**
 * What the documents say about one command in one state: the possible replies, each with the states that may follow.
 */
interface Effect {
  readonly reply: string;
  readonly next: readonly SeenState[];
}

const taken = 'success';

/** The cells in which a command may be accepted; everywhere else the state refuses it. */
const takenIn: Partial<Record<SeenState, Partial<Record<CommandName, readonly Effect[]>>>> = {
  IDLE: { start: [{ reply: taken, next: ['RUNNING'] }] },
  RUNNING: {
    pause: [{ reply: taken, next: ['PAUSED'] }],
    commit: [
      { reply: taken, next: ['COMMITTING', 'COMMITTED', 'reversible'] },
      { reply: 'cannotCommit', next: ['RUNNING'] },
    ],
  },
  PAUSED: { resume: [{ reply: taken, next: ['RUNNING'] }] },
  COMMITTED: { reverse: [{ reply: 'notReversible', next: ['COMMITTED'] }] },
  reversible: { reverse: [{ reply: taken, next: ['REVERSING', 'RUNNING'] }] },
};

/** The states in which a command is available at all, as peers and the contract have them. */
export const states: readonly SeenState[] = [
  'INITIALIZING',
  'IDLE',
  'RUNNING',
  'PAUSED',
  'COMMITTING',
  'COMMITTED',
  'reversible',
  'REVERSING',
  'failed',
];

/** What a command may lead to. */
export function effectsOf(state: SeenState, command: CommandName): readonly Effect[] {
  if (state === 'failed') return [{ reply: 'migrationFailed', next: ['failed'] }];
  return takenIn[state]?.[command] ?? [{ reply: 'notInThisState', next: [state] }];
}

/** The commands that a state refuses in any case. */
export function refusedIn(state: SeenState): CommandName[] {
  return commandNames.filter((command) =>
    effectsOf(state, command).every(({ reply, next }) => reply !== taken && next.includes(state)),
  );
}

/** What two commands sent at once may lead to: what they do one after the other, in either order. */
export function effectsOfPair(
  state: SeenState,
  [a, b]: readonly [CommandName, CommandName],
): { replies: [string, string]; next: SeenState }[] {
  return [
    ...inOrder(state, a, b),
    ...inOrder(state, b, a).map(({ replies: [second, first], next }) => ({
      replies: [first, second] as [string, string],
      next,
    })),
  ];
}

function inOrder(
  state: SeenState,
  first: CommandName,
  second: CommandName,
): { replies: [string, string]; next: SeenState }[] {
  return effectsOf(state, first).flatMap(({ reply: one, next: between }) =>
    between.flatMap((middle) =>
      effectsOf(middle, second).flatMap(({ reply: other, next }) =>
        next.map((last) => ({ replies: [one, other] as [string, string], next: last })),
      ),
    ),
  );
}

const always = ['state', 'canCommit'];

/** What the contract says about the fields of progress in each state. */
export function expectFields(progress: Progress): void {
  expect(progressSchema.parse(progress)).toEqual(progress);
  const { state, canCommit, canWrite, lagTimeSeconds, info } = progress;
  if (state === 'IDLE') {
    const others = Object.entries(progress).filter(([field]) => !always.includes(field));
    expect(others.filter(([, value]) => value !== null)).toEqual([]);
    expect(canCommit).toBe(false);
    return;
  }
  if (state !== 'RUNNING') expect(canCommit).toBe(false);
  if (state === 'PAUSED') expect({ lagTimeSeconds, info }).toEqual({ lagTimeSeconds: null, info: 'paused' });
  if (state === 'REVERSING') expect({ lagTimeSeconds, info }).toEqual({ lagTimeSeconds: null, info: 'reversing' });
  if (state === 'COMMITTING') expect({ info }).toEqual({ info: 'waiting for commit to complete' });
  if (state === 'COMMITTED')
    expect({ lagTimeSeconds, info, canWrite }).toEqual({ lagTimeSeconds: 0, info: 'commit completed', canWrite: true });
  if (state === 'RUNNING') expect(['initializing', 'collection copy', 'change event application']).toContain(info);
  if (state === 'INITIALIZING') expect({ info }).toEqual({ info: 'initializing' });
  else
    expect([
      canWrite === null,
      progress.syncID === null,
      progress.directionMapping === null,
      progress.collectionCopy === null,
    ]).toEqual([false, false, false, false]);
}
