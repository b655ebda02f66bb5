import { describe, expect, test } from 'vitest';
import { answerViews, cutOverView } from '../../../src/dashboard/views/cut-over-view.js';
import { optionViews } from '../../../src/dashboard/views/options-view.js';
import { copyEndText, startedText, waitingSentence } from '../../../src/dashboard/views/progress-texts.js';
import { clockText } from '../../../src/dashboard/views/quantity.js';
import { stateView } from '../../../src/dashboard/views/state-view.js';
import { stagedMessage } from './staged-message.js';

test('a commit and a reverse say which step they are in, and since when', () => {
  const since = new Date(60_000).toISOString();
  const description = 'Instances apply the last changes of the source: 1 of 2 are done.';
  const currentStep = { name: 'applyLastChanges' as const, number: 3, count: 9, description, since };
  const committing = stagedMessage({ state: 'COMMITTING', percent: 100, currentStep }, { now_ms: 75_000 });
  expect(stateView(committing)).toMatchObject({
    phase: `Step 3 of 9, since ${clockText(60_000)}: ${description}`,
    remaining: 'this step for 15 s',
  });
  const reversing = stagedMessage({ state: 'REVERSING', currentStep: { ...currentStep, since: null } });
  expect(stateView(reversing).phase).toBe(`Step 3 of 9: ${description}`);
});

const startedAt = '2026-01-31T12:00:00.000Z';
const now_ms = Date.parse(startedAt) + 90 * 60_000;

test('a running migration has its start and how long ago that was', () => {
  expect(startedText({ state: 'RUNNING', startedAt }, now_ms)).toMatch(/31 Jan.*, 90 min ago$/);
  expect(startedText({ state: 'COMMITTED', startedAt }, now_ms)).not.toContain('ago');
  expect(startedText({ state: 'IDLE', startedAt: null }, now_ms)).toBe('');
});

test('the end of the copy is a time of day, while one is known', () => {
  expect(copyEndText({ state: 'RUNNING', startedAt, copyEndsAt: startedAt })).toMatch(/^about \d\d:\d\d$/);
  expect(copyEndText({ state: 'RUNNING', startedAt, copyEndsAt: null })).toBe('');
});

test('options are words where that is possible', () => {
  const options = {
    source: 'cluster0',
    reversible: true,
    verification: { enabled: false },
    includeNamespaces: [],
    excludeNamespaces: [
      { database: 'crm' },
      { database: 'shop', collections: ['orders', 'a.b'], collectionsRegex: { pattern: '^tmp', options: 'i' } },
      { databaseRegex: { pattern: '_old$', options: '' } },
    ],
    sharding: {
      createSupportingIndexes: true,
      shardingEntries: [
        { database: 'shop', collection: 'orders', shardCollection: { key: [{ region: 1 }, { _id: 'hashed' }] } },
      ],
    },
  };
  expect(optionViews(options)).toEqual([
    { name: 'source', value: 'cluster0' },
    { name: 'reversible', value: 'yes' },
    { name: 'verification', value: 'no' },
    { name: 'includeNamespaces', value: 'everything' },
    { name: 'excludeNamespaces', value: 'crm, shop.orders, shop.a.b, shop./^tmp/i, /_old$/' },
    { name: 'sharding', value: 'shop.orders by {"region":1,"_id":"hashed"}, with supporting indexes' },
  ]);
});

const waiting = (instance: string, description = 'it is IDLE.') => ({
  instance,
  command: 'start' as const,
  description,
});

describe('a recorded command that instances have not taken', () => {
  test('names the instance, the command and the reason', () => {
    expect(waitingSentence([waiting('shard2')])).toBe('WAITING for shard2 to start. It is IDLE.');
    expect(stateView(stagedMessage({ waitingFor: [waiting('shard2')] })).waiting).toContain('shard2');
    const warnings = [{ name: 'waitingForInstances', description: 'shard2' }];
    const waits = stagedMessage({ info: 'initializing', percent: null, warnings });
    expect(stateView(waits).phase).toBe('Waiting: nothing is copied before all instances have started.');
    expect(cutOverView(waits, true, true).advice).toMatch(/^Start the instances that the warning names:/);
  });

  test('several instances stand in one sentence, a long list as a count', () => {
    expect(waitingSentence([waiting('a'), waiting('b')])).toBe('WAITING for a and b to start. a: it is IDLE.');
    const all = Array.from({ length: 32 }, (_, at) => waiting(`s${at}`));
    expect(waitingSentence(all)).toMatch(/^WAITING for s0, s1, s2 and 29 others to start\./);
  });

  test('nothing is said when none waits, nor after a failure', () => {
    expect([waitingSentence(null), waitingSentence([])]).toEqual(['', '']);
    const failure = { error: 'oplogHistoryLost' as const, errorDescription: 'It is gone.' };
    expect(stateView(stagedMessage({ waitingFor: [waiting('b')] }, { failure })).waiting).toBe('');
  });

  test('the answers to a command name them', () => {
    expect(answerViews({ a: { success: true } }, ['b', 'c']).map(({ text }) => text)).toEqual([
      '✓ accepted: a',
      '◌ recorded for b, c, which take it without being asked again',
    ]);
  });
});
