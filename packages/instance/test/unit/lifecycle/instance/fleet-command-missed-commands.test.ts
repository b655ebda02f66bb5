import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, describe, expect, it } from 'vitest';
import { MissedCommands } from '../../../../src/lifecycle/instance/fleet-command.js';
import { createLogger } from '../../../../src/logging/logger.js';
import type { FleetCommands } from '../../../../src/store/fleet-commands.js';
import { viewWith } from '../../model/migration-state.js';
import { never } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import type { JoinedMigration } from '../../../../src/lifecycle/instance/joined-migration.js';
import type { Fleet } from '@convoy/api/fleet/fleet';

const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
const last = { id: 'x', number: 1, turn: 0 };
let commands: FleetCommands['last'];
let refusal: ConvoyError | null;
let taken: unknown[];
let now_ms: number;
let isReplaced: boolean;
let missed: MissedCommands;

const accept = (name: string) => (first?: unknown, second?: unknown) => {
  taken.push([name, first, second]);
  return refusal === null ? Promise.resolve({}) : Promise.reject(refusal);
};

beforeEach(() => {
  commands = { start: last };
  refusal = null;
  isReplaced = false;
  taken = [];
  now_ms = 0;
  missed = new MissedCommands(
    only<Runtime>({
      clock: { monotonic_ms: () => now_ms, now_ms: () => 0, sleep: () => Promise.resolve(), random: () => 0 },
      logger: createLogger({ verbosity: 'FATAL' }),
    }),
    'b',
    only<JoinedMigration>({
      recorded: () => Promise.resolve(viewWith({ options, fleetCommands: { noted: 1, last: commands } })),
    }),
    { start: accept('start'), pause: accept('pause'), resume: accept('resume'), reverse: accept('reverse') },
    only<Fleet>({ isReplaced: () => Promise.resolve(isReplaced) }),
  );
});

describe('an instance that missed a command of the whole fleet', () => {
  it('takes it with the recorded options and the recorded id', async () => {
    await missed.look(never);
    expect(taken).toEqual([['start', options, 'x']]);
    expect(missed.refused).toBeUndefined();
  });

  it('takes none that was sent to each instance by hand', async () => {
    commands = {};
    await missed.look(never);
    expect(taken).toEqual([]);
  });

  it('takes none once another process has its identity', async () => {
    isReplaced = true;
    await missed.look(never);
    expect(taken).toEqual([]);
  });

  it('shows why it refuses, tries again later and later, and forgets it once it can', async () => {
    refusal = new ConvoyError('wrongCluster', 'Another one.');
    const looks = async (at_ms: number) => {
      now_ms = at_ms;
      await missed.look(never);
      return taken.length;
    };
    expect([await looks(0), await looks(4_999), await looks(5_000), await looks(14_999), await looks(15_000)]).toEqual([
      1, 1, 2, 2, 3,
    ]);
    expect(missed.refused).toEqual({ command: 'start', error: 'wrongCluster', errorDescription: 'Another one.' });
    for (let tries = 0; tries < 9; tries += 1) await looks(now_ms + 60_000);
    expect(taken).toHaveLength(12);
    commands = { start: { ...last, id: 'y' } };
    expect(await looks(now_ms + 1), 'another command waits for no delay').toBe(13);
    refusal = null;
    await looks(now_ms + 60_000);
    expect(missed.refused).toBeUndefined();
  });
});
