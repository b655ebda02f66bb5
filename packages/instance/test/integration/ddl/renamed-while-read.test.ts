import { describe, it } from 'vitest';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { Fixture } from '../contract/fixture.js';
import { triedReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

const collections = 40;
const documents = 400;
const copied_ms = 60_000;

interface Order {
  _id: number;
  text: string;
}

describe.each(triedReleases)('%s', (_name, releases) => {
  // A router answers for a name that is gone as if its collection were empty: reads before the change is known must not
  // count.
  it('collections that are renamed while a router reads them arrive whole', async () => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
    const shop = fixture.cluster0.client.db('shop');
    for (let n = 0; n < collections; n += 1) {
      await shop
        .collection<Order>(`c${n}`)
        .insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, text: 'x'.repeat(200) })));
    }
    await using instance = await fixture.startInstance({
      sourceAccess: 'router',
      readers: 2,
      loadRateBytesPerSecond: '512KB',
    });
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
    await pollUntil('the copy has begun', copied_ms, async () => {
      const { progress } = (await instance.progressReply()).body as {
        progress?: { collectionCopy: { estimatedCopiedBytes: number } | null };
      };
      return (progress?.collectionCopy?.estimatedCopiedBytes ?? 0) > 0;
    });
    for (let n = collections - 1; n >= 0; n -= 1) await shop.renameCollection(`c${n}`, `renamed${n}`);

    await instance.untilCanCommit();
    await instance.commitWhenOffered();
    await expectEqualDatabases(fixture, 'shop');
  });
});
