import pino from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import { only } from '../../../../../test/only.js';
import type { FleetConsole } from '../../../src/director/fleet-console.js';
import { FleetDirector } from '../../../src/director/fleet-director.js';
import { type ReportChanges, snapshot } from './snapshots.js';

const accepted: CommandResult = { success: true };
const refused: CommandResult = { success: false, error: 'notInThisState', errorDescription: 'It is IDLE.' };
const silent: CommandResult = { success: false, error: 'commandTimedOut', errorDescription: 'Nothing came.' };

/** What was sent, as the ids of each sending. */
let sent: (readonly string[])[];
let replies: Record<string, CommandResult>;

function directorOf(instances: Readonly<Record<string, ReportChanges>>, isConnected = true): FleetDirector {
  const { reports, leader } = snapshot(instances);
  const fleet = only<FleetConsole>({
    freshFor_ms: 5_000,
    isConnected: () => isConnected,
    whyDisconnected: isConnected ? null : 'Nothing listens there.',
    reports: () => reports,
    leader: () => leader,
    silent_ms: (id) => instances[id]?.silent_ms ?? 0,
    warnings: () => [],
    send: (_command: FleetCommand, ids) => {
      sent.push(ids);
      return Promise.resolve(new Map(ids.map((id) => [id, replies[id] ?? accepted])));
    },
  });
  return new FleetDirector(fleet, pino({ enabled: false }), 60_000);
}

beforeEach(() => {
  sent = [];
  replies = {};
});

describe('a command', () => {
  test('goes to those that can answer, and to the others only if nobody accepted or refused it', async () => {
    const fleet = { a: {}, b: { fresh: false, silent_ms: 9_000 } };
    await directorOf(fleet).command('pause', {});
    expect(sent).toEqual([['a'], ['b']]);
    sent = [];
    replies = { a: refused };
    const outcome = await directorOf(fleet).command('pause', {});
    expect(sent).toEqual([['a']]);
    expect(outcome).toMatchObject({ success: false, results: new Map([['a', refused]]) });
  });

  test('that one of them recorded for the others succeeds, and says for whom it waits', async () => {
    replies = { a: { success: true, waitingFor: ['b', 'c'] }, c: silent };
    const director = directorOf({ a: {}, b: { fresh: false, silent_ms: 9_000 }, c: {} });
    expect(await director.command('pause', {})).toMatchObject({
      success: true,
      results: new Map([['a', replies['a']]]),
      waitingFor: ['b', 'c'],
    });
    expect(sent).toEqual([['a', 'c']]);
  });

  test('that some have followed already goes to the others', async () => {
    const outcome = await directorOf({ a: { state: 'PAUSED' }, b: {} }).command('pause', {});
    expect(sent).toEqual([['b']]);
    expect([...outcome.results.keys()]).toEqual(['a', 'b']);
  });

  test('goes to none of an empty fleet, and says why there is none', async () => {
    await expect(directorOf({}).command('pause', {})).rejects.toMatchObject({ error: 'fleetIncomplete' });
    await expect(directorOf({}, false).command('pause', {})).rejects.toMatchObject({
      error: 'redisUnavailable',
      errorDescription: expect.stringContaining('Nothing listens there.') as string,
    });
    expect(sent).toEqual([]);
  });

  test('is remembered with its outcome', async () => {
    const director = directorOf({ a: {} });
    await director.command('pause', {}, 'first');
    await director.command('resume', {}, 'second');
    expect(director.commandsSent).toBe(2);
    expect(director.commands().map(({ commandId, name }) => [commandId, name])).toEqual([
      ['first', 'pause'],
      ['second', 'resume'],
    ]);
  });
});
