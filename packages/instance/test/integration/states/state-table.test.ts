import { commandNames, type CommandName } from '@convoy/api/contract/commands';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { isFullRun, sampled } from '../../../../../test/seed.js';
import { CommandedFleet } from './commanded-fleet.js';
import { refusedIn, states } from './documented-states.js';

const shards = ['shard0', 'shard1', 'shard2'];
/** The commands that arrive beside another one. */
const halves: readonly (readonly CommandName[])[] = [
  ['start', 'resume', 'reverse'],
  ['pause', 'commit'],
];
let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: shards.length }, { shards: 2 });
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }]);
});

afterEach(() => fixture.clear());

/** Commits wait for the destination's catalog while this is on. */
async function holdCommits(mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = { failCommands: ['listCollections'], errorCode: 91 };
  await fixture.cluster1.client
    .db('admin')
    .command({ configureFailPoint: 'failCommand', mode, ...(mode === 'off' ? {} : { data }) });
}

describe.each([1, shards.length])('a fleet of %i', (size) => {
  const ids = shards.slice(0, size);
  // The states of a fleet of three are refused in the usual run of the reversible migration, too.
  const isUsual = size === 1 || isFullRun;

  it.runIf(isUsual)('accepts no command in INITIALIZING', async () => {
    await using fleet = await CommandedFleet.launch(fixture, ids, {
      cluster1: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500',
    });
    await fleet.refusesByState('INITIALIZING');
  });

  it.runIf(isUsual)('refuses every command that the state does not allow, from IDLE to COMMITTED', async () => {
    await using fleet = await CommandedFleet.launch(fixture, ids);
    await fleet.untilReady();
    await fleet.refusesByState('IDLE');
    await fleet.sends('IDLE', 'start');
    await fleet.refusesByState('RUNNING');
    await fleet.untilCanCommit();
    await fleet.refusesByState('RUNNING');
    await fleet.sends('RUNNING', 'pause');
    await fleet.refusesByState('PAUSED');
    await fleet.sends('PAUSED', 'resume');
    await fleet.untilCanCommit();
    await holdCommits('alwaysOn');
    try {
      await fleet.commitRest();
      await fleet.until('COMMITTING');
      await fleet.refusesByState('COMMITTING');
    } finally {
      await holdCommits('off');
    }
    await fleet.until('COMMITTED');
    await fleet.refusesByState('COMMITTED');
    expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(2);
  });

  // Each instance of a fleet handles its commands like a single one.
  const others = size === 1 ? sampled(halves).flat() : sampled(commandNames);
  it.each<CommandName>(others)(
    'does what two commands do one after the other if %s arrives at the same time as an accepted one',
    async (other) => {
      await using fleet = await CommandedFleet.launch(fixture, ids);
      await fleet.untilReady();
      await fleet.sendsAtOnce('IDLE', ['start', other]);
      await fleet.settleRunning();
      await fleet.untilCanCommit();
      await fleet.sendsAtOnce('RUNNING', ['pause', other]);
      if ((await fleet.states()).every((state) => state === 'PAUSED')) {
        await fleet.sendsAtOnce('PAUSED', ['resume', other]);
        await fleet.settleRunning();
        await fleet.untilCanCommit();
        await fleet.sendsAtOnce('RUNNING', ['commit', other]);
      }
      await fleet.commitRest();
      await fleet.until('COMMITTED');
      await fleet.sendsAtOnce('COMMITTED', ['reverse', other]);
      expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(2);
    },
  );

  it.runIf(isUsual)('accepts no command once the migration has failed', async () => {
    await fixture.cluster0.client
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { n: 1 }, unique: true }]);
    await using fleet = await CommandedFleet.launch(fixture, ids, { retry_minutes: 0.05 });
    await fleet.untilReady();
    await fleet.sends('IDLE', 'start');
    await fleet.untilCanCommit();
    await fixture.cluster1.client.db('shop').collection('orders').insertOne({ n: 1 });
    await fleet.commitRest().catch(() => undefined);
    await fleet.until('failed');
    await fleet.refusesByState('failed');
  });
});

it('reports for every state what is refused there', () => {
  const refused = Object.fromEntries(states.map((state) => [state, refusedIn(state)]));
  expect(refused).toEqual({
    INITIALIZING: ['start', 'pause', 'resume', 'commit', 'reverse'],
    IDLE: ['pause', 'resume', 'commit', 'reverse'],
    RUNNING: ['start', 'resume', 'reverse'],
    PAUSED: ['start', 'pause', 'commit', 'reverse'],
    COMMITTING: ['start', 'pause', 'resume', 'commit', 'reverse'],
    COMMITTED: ['start', 'pause', 'resume', 'commit', 'reverse'],
    reversible: ['start', 'pause', 'resume', 'commit'],
    REVERSING: ['start', 'pause', 'resume', 'commit', 'reverse'],
    failed: ['start', 'pause', 'resume', 'commit', 'reverse'],
  });
});
