import { describe, expect, it } from 'vitest';
import { type CommandName, commandNames } from '@convoy/api/contract/commands';
import type { Mismatch } from '@convoy/api/contract/mismatch';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { only } from '../../../../../test/only.js';
import { DirectorService, outcomeFailure } from '../../../src/director/director-service.js';
import type { FleetDirector } from '../../../src/director/fleet-director.js';

const accepted: CommandResult = { success: true };
const timedOut: CommandResult = { success: false, error: 'commandTimedOut', errorDescription: 'Late.' };
const refused: CommandResult = { success: false, error: 'notInThisState', errorDescription: 'It is RUNNING.' };

function failureOf(
  results: Readonly<Record<string, CommandResult>>,
  name: CommandName = 'start',
): { error?: string; errorDescription?: string } {
  const success = Object.values(results).every((result) => result.success);
  return (
    outcomeFailure({ commandId: 'c', name, success, results: new Map(Object.entries(results)), waitingFor: [] }) ?? {}
  );
}

describe('outcomeFailure', () => {
  it('is null when all accepted', () => {
    expect(failureOf({ a: accepted, b: accepted })).toEqual({});
  });

  it('is the error that all returned', () => {
    expect(failureOf({ a: refused, b: refused })).toMatchObject({ error: 'notInThisState', httpStatus: 409 });
    expect(failureOf({ a: timedOut, b: timedOut })).toMatchObject({ error: 'commandTimedOut', httpStatus: 503 });
  });

  it('is a timeout when none rejected it, and a rejection otherwise', () => {
    expect(failureOf({ a: accepted, b: timedOut }).error).toBe('commandTimedOut');
    expect(failureOf({ a: accepted, b: timedOut, c: refused }).error).toBe('commandFailedOnInstances');
    expect(failureOf({ a: accepted, b: refused }).error).toBe('commandFailedOnInstances');
  });

  it('describes the effect when some accepted, and none otherwise', () => {
    for (const name of commandNames)
      expect(failureOf({ a: accepted, b: refused }, name).errorDescription).toMatch(
        /The accepting instances .* ([Rr]epeat|send) /,
      );
    expect(failureOf({ a: refused, b: refused }).errorDescription).toBe(
      'No instance accepted start. a: notInThisState (It is RUNNING); b: notInThisState (It is RUNNING).',
    );
    expect(failureOf({ a: accepted, b: timedOut }).errorDescription).toContain('Read progress');
    expect(failureOf({ a: accepted, b: refused }).errorDescription).not.toContain('Read progress');
  });

  it('lists every instance in the order of the ids, up to a bound', () => {
    expect(failureOf({ b: refused, a: accepted }).errorDescription).toBe(
      'Not every instance accepted start. a: accepted; b: notInThisState (It is RUNNING). The accepting instances ' +
        'recorded the options and wait: the copy starts once all have. Remove the reasons and repeat the same start; ' +
        'only the others receive it.',
    );
    const many = Object.fromEntries(Array.from({ length: 60 }, (_one, at) => [`i${at}`, refused]));
    expect(failureOf(many).errorDescription).toContain('; and 10 more');
    const late = { ...Object.fromEntries(Object.keys(many).map((id) => [id, accepted])), z: refused };
    expect(failureOf(late).errorDescription).toContain('z: notInThisState (It is RUNNING); i0: accepted');
  });
});

it('says that a recorded command needs no repetition', () => {
  const recorded: CommandResult = { success: true, waitingFor: ['b'] };
  expect(failureOf({ a: recorded, b: refused }).errorDescription).toContain(
    'recorded it for the whole fleet. Remove the reasons: the others then take it by themselves',
  );
});

const mismatch = (namespace: string, kind: Mismatch['kind'], n: number): Mismatch => ({
  namespace,
  kind,
  _id: n,
  paths: [],
  detail: null,
  firstSeen: '',
  lastSeen: '',
  looks: 1,
  proven: false,
});
const reported = [
  mismatch('shop.orders', 'different', 1),
  mismatch('shop.orders', 'extraOnDestination', 2),
  mismatch('shop.items', 'different', 3),
];

it.each([
  [{ limit: 100 }, [1, 2, 3]],
  [{ limit: 2 }, [1, 2]],
  [{ limit: 100, kind: 'different' as const }, [1, 3]],
  [{ limit: 1, kind: 'different' as const, namespace: 'shop.items' }, [3]],
])("a fleet serves its instances' mismatches: %j", async (query, ids) => {
  const director = only<FleetDirector>({ mismatches: () => reported });
  const service = new DirectorService(director, (_name, run) => run(), {
    inventory: () => Promise.reject(new Error()),
  });
  const found: unknown[] = [];
  for await (const { _id } of service.mismatches(query)) found.push(_id);
  expect(found).toEqual(ids);
});
