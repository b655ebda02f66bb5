import { beforeEach, describe, expect, it, test } from 'vitest';
import { optionsDigest } from '@convoy/api/contract/options-digest';
import type { MigrationState } from '@convoy/api/contract/progress';
import { startRequestSchema } from '@convoy/api/contract/start-request';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { makeIdentity } from '../../../../api/test/unit/fleet/fleet-behaviour.js';
import { membersOf } from '../../../src/director/members.js';
import {
  answeringIds,
  LastCommands,
  needNoMessage,
  recordedFor,
  refuseOtherClusters,
  withoutFollowed,
} from '../../../src/director/recipients.js';
import { snapshot } from './snapshots.js';

const timedOut: CommandResult = { success: false, error: 'commandTimedOut', errorDescription: 'Late.' };
const refused: CommandResult = { success: false, error: 'notInThisState', errorDescription: 'It is RUNNING.' };
const accepted: CommandResult = { success: true };
const recordedForB: CommandResult = { success: true, waitingFor: ['b', 'a'] };

describe('the instances that get a command', () => {
  const fleet = snapshot({ a: {}, silent: { fresh: false }, begins: { state: 'INITIALIZING' } });
  const ids = ['a', 'silent', 'begins', 'missing'];

  it('are those that can answer', () => {
    expect(answeringIds(ids, fleet)).toEqual(['a']);
  });
});

describe('a command is recorded', () => {
  it.each([
    ['for those that the record misses and that have not replied', { a: recordedForB, b: timedOut }, ['b']],
    ['for those that got no message', { a: recordedForB }, ['b']],
    ['for nobody once they accepted', { a: recordedForB, b: accepted }, []],
    ['for nobody who refuses it: the refusal is shown', { a: recordedForB, b: refused }, []],
  ])('%s', (_what, replies, ids) => {
    expect(recordedFor(new Map(Object.entries(replies)))).toEqual(ids);
    expect(needNoMessage(new Map(Object.entries(replies)))).toBe(true);
  });

  it.each([
    ['an earlier release accepted it', { a: accepted, b: timedOut }, false],
    ['nobody accepted it', { a: timedOut }, false],
    ['nobody was asked', {}, false],
    ['it is refused', { a: refused, b: timedOut }, true],
  ])('not when %s', (_what, replies: Record<string, CommandResult>, isOver) => {
    expect(recordedFor(new Map(Object.entries(replies)))).toBeNull();
    expect(needNoMessage(new Map(Object.entries(replies)))).toBe(isOver);
  });
});

let now_ms = 0;
const lease_ms = 5_000;
let last: LastCommands;

beforeEach(() => {
  last = new LastCommands({ now_ms: () => 0, monotonic_ms: () => now_ms }, lease_ms);
});

function snapshotOf(states: Record<string, MigrationState>, isFresh = true) {
  const seen = Object.entries(states).map(
    ([id, state]) =>
      [id, { report: idleReport(makeIdentity(id), { state }), reportedAt_ms: 0, fresh: isFresh }] as const,
  );
  return { reports: new Map(seen) };
}

test.each([
  ['commit', 'COMMITTING', 'RUNNING'],
  ['commit', 'COMMITTED', 'COMMITTING'],
  ['pause', 'PAUSED', 'RUNNING'],
  ['resume', 'RUNNING', 'PAUSED'],
] as const)('%s is not sent again to who is %s', (command, followed, other) => {
  const open = withoutFollowed(
    { name: command, body: {} },
    ['a', 'b', 'unheard'],
    snapshotOf({ a: followed, b: other }),
    last,
  );
  expect(open).toEqual(command === 'commit' && other === 'COMMITTING' ? ['unheard'] : ['b', 'unheard']);
});

test('a command that all followed goes to all, and each explains its rejection', () => {
  expect(
    withoutFollowed({ name: 'pause', body: {} }, ['a', 'b'], snapshotOf({ a: 'PAUSED', b: 'PAUSED' }), last),
  ).toEqual(['a', 'b']);
});

test('a stale report does not count', () => {
  expect(
    withoutFollowed({ name: 'pause', body: {} }, ['a', 'b'], snapshotOf({ a: 'PAUSED', b: 'RUNNING' }, false), last),
  ).toEqual(['a', 'b']);
});

test('a repeated start skips instances with equal options in any notation', () => {
  const body = { source: 'cluster0', destination: 'cluster1' };
  const digest = optionsDigest(startRequestSchema.parse({ ...body, buildIndexes: 'beforeDataCopy' }));
  const snapshot = snapshotOf({ a: 'RUNNING', b: 'IDLE', c: 'RUNNING' });
  const [a, c] = [snapshot.reports.get('a'), snapshot.reports.get('c')];
  if (a !== undefined) a.report.optionsDigest = digest;
  if (c !== undefined) c.report.optionsDigest = 'of other options';
  expect(withoutFollowed({ name: 'start', body }, ['a', 'b', 'c'], snapshot, last)).toEqual(['b', 'c']);
  expect(
    withoutFollowed({ name: 'start', body: { ...body, buildIndexes: 'never' } }, ['a', 'b', 'c'], snapshot, last),
  ).toEqual(['a', 'b', 'c']);
  expect(withoutFollowed({ name: 'start', body: {} }, ['a', 'b'], snapshot, last)).toEqual(['a', 'b']);
});

test('a repeated start goes to instances whose migration has ended: they refuse it by name', () => {
  const body = { source: 'cluster0', destination: 'cluster1' };
  const digest = optionsDigest(startRequestSchema.parse(body));
  const snapshot = snapshotOf({ a: 'COMMITTED', b: 'RUNNING', c: 'RUNNING' });
  for (const { report } of snapshot.reports.values()) report.optionsDigest = digest;
  const b = snapshot.reports.get('b');
  if (b !== undefined) b.report.failure = { error: 'retriesExhausted', errorDescription: '' };
  expect(withoutFollowed({ name: 'start', body }, ['a', 'b', 'c'], snapshot, last)).toEqual(['a', 'b']);
});

test('a report that may predate the opposite command does not count', () => {
  const late = snapshotOf({ a: 'RUNNING', b: 'PAUSED', c: 'RUNNING' });
  const resumed = (): readonly string[] => withoutFollowed({ name: 'resume', body: {} }, ['a', 'b', 'c'], late, last);
  last.note(
    'pause',
    new Map([
      ['a', { success: true }],
      ['b', { success: true }],
      ['c', { success: false, error: 'notReady', errorDescription: '' }],
    ]),
  );
  expect(resumed()).toEqual(['a', 'b']);
  now_ms += lease_ms + 1;
  expect(resumed()).toEqual(['b']);
  last.note('pause', new Map([['a', { success: true }]]));
  last.note('resume', new Map([['a', { success: true }]]));
  expect(resumed()).toEqual(['b']);
});

const with1 = (cluster1: string) => ({ clusterIds: { cluster0: 'x', cluster1 } });

it('rejects a start with the names of instances that have other clusters configured', () => {
  const members = membersOf(snapshot({ a: with1('y'), b: with1('z'), c: with1('y') }));
  expect(() => refuseOtherClusters(members)).toThrow(
    expect.objectContaining({
      error: 'wrongCluster',
      errorDescription: expect.stringContaining('than the rest: b.') as string,
    }) as Error,
  );
});

it('accepts instances that agree, do not know yet or are dead', () => {
  const members = membersOf(snapshot({ a: with1('y'), b: {}, c: { ...with1('z'), fresh: false }, d: with1('y') }));
  expect(() => refuseOtherClusters(members)).not.toThrow();
});
