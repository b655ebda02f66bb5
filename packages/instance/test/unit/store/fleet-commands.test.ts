import { beforeEach, describe, expect, it } from 'vitest';
import { missedCommand, missedCommands, noteCommand, type FleetCommands } from '../../../src/store/fleet-commands.js';
import type { Metadata } from '../../../src/store/metadata.js';
import { MigrationRecords, type MigrationRecord } from '../../../src/store/migration-record.js';
import { metadataIn, MetadataModel } from '../model/metadata-model.js';
import { taskWith as task } from '../model/migration-state.js';
import { never } from '../model/parts.js';
import { unrecorded } from '../model/unrecorded-migration.js';

describe('a command of the whole fleet is recorded', () => {
  let metadata: Metadata;
  const recorded = async () => (await new MigrationRecords(metadata).read(never))?.fleetCommands;

  beforeEach(async () => {
    metadata = metadataIn(new MetadataModel());
    await new MigrationRecords(metadata).begin(unrecorded, never);
  });

  it('not before one comes', async () => {
    expect(await recorded()).toBeUndefined();
  });

  it('once for each id, in the order in which the first instance took them', async () => {
    expect(await noteCommand(metadata, 'start', 'x', never)).toBe(1);
    expect(await noteCommand(metadata, 'pause', 'y', never)).toBe(2);
    expect(await noteCommand(metadata, 'start', 'x', never)).toBe(1);
    expect(await noteCommand(metadata, 'pause', 'z', never)).toBe(3);
    expect(await recorded()).toEqual({
      noted: 3,
      last: { start: { id: 'x', number: 1, turn: 0 }, pause: { id: 'z', number: 3, turn: 0 } },
    });
  });

  it('by several instances at once', async () => {
    const ids = ['u', 'v', 'w'];
    const numbers = await Promise.all(ids.map((id) => noteCommand(metadata, 'pause', id, never)));
    expect([...numbers].sort()).toEqual([1, 2, 3]);
    expect((await recorded())?.noted).toBe(3);
  });
});

const command = (number: number, turn = 0) => ({ id: `id${number}`, number, turn });

function migration(last: FleetCommands['last'], changes: Partial<MigrationRecord> = {}) {
  const none: Pick<MigrationRecord, 'failure' | 'phase' | 'reversal' | 'taskIds'> = {
    failure: null,
    phase: 'syncing',
    reversal: null,
    taskIds: ['a', 'b', 'c'],
  };
  return { ...none, fleetCommands: { noted: 9, last }, ...changes };
}

describe('a task has missed', () => {
  const starting = { phase: 'starting' as const };
  const committed = { phase: 'committed' as const };
  const failure = { error: 'oplogHistoryLost' as const, errorDescription: '' };

  it.each([
    ['a start', migration({ start: command(1) }, starting), undefined, 'start'],
    ['no start that each instance gets by hand', migration({}, starting), undefined, null],
    [
      'no start of a migration that has failed',
      migration({ start: command(1) }, { ...starting, failure }),
      undefined,
      null,
    ],
    ['no start that it has taken', migration({ start: command(1) }, starting), task(), null],
    ['a pause', migration({ pause: command(2) }), task(), 'pause'],
    ['no pause when it is paused', migration({ pause: command(2) }), task({ paused: true }), null],
    ['no pause that it took and its operator ended', migration({ pause: command(2) }), task({ followed: 2 }), null],
    ['no pause that a resume has replaced', migration({ pause: command(2), resume: command(3) }), task(), null],
    ['a resume', migration({ pause: command(2), resume: command(3) }), task({ paused: true, followed: 2 }), 'resume'],
    ['a later pause', migration({ pause: command(4), resume: command(3) }), task({ followed: 3 }), 'pause'],
    ['no pause once it takes the commit', migration({ pause: command(2) }), task({ commitRequested: true }), null],
    ['no pause while the migration commits', migration({ pause: command(2) }, { phase: 'committing' }), task(), null],
    ['a reverse', migration({ reverse: command(5) }, committed), task(), 'reverse'],
    [
      'no reverse that it has taken',
      migration({ reverse: command(5) }, committed),
      task({ reverseRequested: 0 }),
      null,
    ],
    ['no reverse of an earlier direction', migration({ reverse: command(5, 1) }, committed), task(), null],
    ['no reverse that has begun', migration({ reverse: command(5) }, { phase: 'reversing' }), task(), null],
  ])('%s', (_what, record, own, name) => {
    expect(missedCommand(record, own)?.name ?? null).toBe(name);
  });

  it('each for itself', () => {
    const record = migration({ start: command(1), pause: command(2) }, starting);
    const tasks = new Map([
      ['a', task({ paused: true })],
      ['b', task()],
    ]);
    expect(missedCommands(record, tasks)).toEqual([
      { instance: 'b', command: 'pause' },
      { instance: 'c', command: 'start' },
    ]);
  });
});
