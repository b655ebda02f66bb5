import type { FleetCommand } from '@convoy/api/fleet/fleet';
import { describe, expect, it } from 'vitest';
import { carryOut } from '../../../../src/lifecycle/instance/fleet-command.js';

/** A service that notes which of its methods are called, also those that no command names. */
function serviceThatNotes() {
  const called: string[] = [];
  const noting = (name: string) => () => Promise.resolve({ waitingFor: [String(called.push(name))] });
  const commands = {
    start: noting('start'),
    pause: noting('pause'),
    resume: noting('resume'),
    commit: noting('commit'),
    reverse: noting('reverse'),
  };
  const others = ['progress', 'mismatches', 'close', 'fail', 'open'].map((name) => [name, noting(name)] as const);
  return { service: { ...Object.fromEntries(others), ...commands }, called };
}

async function outcomeOf(command: { name: string; body: unknown }) {
  const { service, called } = serviceThatNotes();
  const result = await carryOut(service, { commandId: '1', ...command } as FleetCommand);
  return { called, error: result.success ? null : result.error };
}

describe('a command that comes through Redis', () => {
  it.each([
    ['pause', {}],
    ['commit', undefined],
    ['start', { source: 'cluster0', destination: 'cluster1' }],
  ])('is executed: %s', async (name, body) => {
    expect(await outcomeOf({ name, body })).toEqual({ called: [name], error: null });
  });

  it.each([
    ['a name of no command', 'close', {}],
    ['the name of something that every object has', 'constructor', {}],
    ['an option that the command does not have', 'commit', { force: true }],
    ['a body that is no document', 'pause', 'now'],
    ['options of start that are invalid', 'start', { source: 'cluster0', destination: 'cluster1', shards: 7 }],
    ['no options of start', 'start', null],
  ])('is refused like one over HTTP: %s', async (_what, name, body) => {
    expect(await outcomeOf({ name, body })).toEqual({ called: [], error: 'invalidRequest' });
  });

  it('says to a commit how long its sender still waits', async () => {
    const { service } = serviceThatNotes();
    const given: unknown[] = [];
    const commit = (...all: unknown[]) => Promise.resolve({ waitingFor: [String(given.push(...all))] });
    await carryOut({ ...service, commit }, { commandId: '1', name: 'commit', body: {} }, 4_000);
    expect(given).toEqual(['1', 4_000]);
  });
});
