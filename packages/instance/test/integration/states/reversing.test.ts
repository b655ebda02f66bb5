import { commandNames } from '@convoy/api/contract/commands';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { blockingReleases } from '../contract/releases.js';
import { CommandedFleet } from './commanded-fleet.js';

const full = process.env.CONVOY_TEST_FULL === '1';
/** With CONVOY_TEST_FULL=1 both sizes, and every command beside a reverse. */
const sizes = full ? [1, 3] : [3];
const others = full ? commandNames : (['reverse'] as const);
const shards = ['shard0', 'shard1', 'shard2'];
const reversible = { enableUserWriteBlocking: true, reversible: true };
let fixture: Fixture;

beforeEach(async () => {
  fixture = await Fixture.open({ shards: shards.length }, { shards: shards.length }, blockingReleases);
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }]);
});

afterEach(() => fixture.close());

/** A reverse waits for the indexes of the former source while this is on. */
async function holdReverse(mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = { failCommands: ['listIndexes'], errorCode: 91 };
  await fixture.cluster0.client
    .db('admin')
    .command({ configureFailPoint: 'failCommand', mode, ...(mode === 'off' ? {} : { data }) });
}

describe.each(sizes)('a fleet of %i with a reversible migration', (size) => {
  const ids = shards.slice(0, size);

  async function committed(): Promise<CommandedFleet> {
    const fleet = await CommandedFleet.launch(fixture, ids, {}, reversible);
    await fleet.untilReady();
    await fleet.sends('IDLE', 'start');
    await fleet.commitRest();
    await fleet.until('reversible');
    return fleet;
  }

  it('refuses every command that the state does not allow, from COMMITTED over REVERSING to COMMITTED', async () => {
    await using fleet = await committed();
    await fleet.refusesByState('reversible');
    await fixture.cluster1.shopper.db('shop').collection('orders').insertOne({ n: 3 });
    await holdReverse('alwaysOn');
    try {
      await fleet.sends('reversible', 'reverse');
      await fleet.until('REVERSING');
      await fleet.refusesByState('REVERSING');
    } finally {
      await holdReverse('off');
    }
    await fleet.until('RUNNING');
    await fleet.refusesByState('RUNNING');
    await fleet.commitRest();
    await fleet.until('reversible');
    await fleet.refusesByState('reversible');
    expect(await fixture.cluster0.client.db('shop').collection('orders').countDocuments()).toBe(3);
  });

  it('does what two commands do one after the other if any arrives at the same time as reverse', async () => {
    await using fleet = await committed();
    for (const other of others) {
      await fleet.sendsAtOnce('reversible', ['reverse', other]);
      await fleet.commitRest();
      await fleet.until('reversible');
    }
    const counts = await Promise.all(
      [fixture.cluster0, fixture.cluster1].map(({ client }) => client.db('shop').collection('orders').countDocuments()),
    );
    expect(counts).toEqual([2, 2]);
  });
});
