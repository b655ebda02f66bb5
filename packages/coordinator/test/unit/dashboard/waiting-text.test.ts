import { describe, expect, test } from 'vitest';
import { answerViews, cutOverView } from '../../../src/dashboard/views/cut-over-view.js';
import { stateView } from '../../../src/dashboard/views/state-view.js';
import { waitingSentence } from '../../../src/dashboard/views/waiting-text.js';
import { stagedMessage } from './staged-message.js';

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
