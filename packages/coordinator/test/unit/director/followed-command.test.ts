import { beforeEach, expect, test } from 'vitest';
import { optionsDigest } from '@convoy/api/contract/options-digest';
import { startRequestSchema } from '@convoy/api/contract/start-request';
import type { MigrationState } from '@convoy/api/contract/progress';
import { makeIdentity } from '../../../../api/test/unit/fleet/fleet-behaviour.js';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { LastCommands, withoutFollowed } from '../../../src/director/followed-command.js';

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
