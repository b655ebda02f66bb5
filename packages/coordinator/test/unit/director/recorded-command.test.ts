import { describe, expect, it } from 'vitest';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { answeringIds, needNoMessage, recordedFor } from '../../../src/director/recorded-command.js';
import { snapshot } from '../progress/snapshots.js';

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
