import { randomBytes } from 'node:crypto';
import { it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

const documentBytes = 512 * 1024;
/** Their copy takes several replies, so that it continues when its first write is refused. */
const documentsBefore = 48;
/** Their events are more than half of `memoryBytesMax`. */
const documentsMeanwhile = 80;

/** It moves 64 MB through both clusters: only with the full counts of all tests. */
it.runIf(process.env.CONVOY_TEST_FULL === '1')(
  'a capped collection arrives whose writers fill the limit of buffered events while it is copied',
  async () => {
    await using fixture = await Fixture.open({ shards: 1 }, { shards: 1 });
    const { cluster0, cluster1 } = fixture;
    const failPoint = (mode: 'alwaysOn' | 'off') =>
      cluster1.client.db('admin').command({
        configureFailPoint: 'failCommand',
        mode,
        ...(mode === 'off' ? {} : { data: { failCommands: ['insert'], namespace: 'logs.lines', errorCode: 91 } }),
      });
    const lines = await cluster0.client
      .db('logs')
      .createCollection<{ _id: number; text: Buffer }>('lines', { capped: true, size: 256 * 2 ** 20 });
    const append = async (from: number, to: number): Promise<void> => {
      for (let _id = from; _id < to; _id += 1) await lines.insertOne({ _id, text: randomBytes(documentBytes) });
    };
    await append(0, documentsBefore);
    await failPoint('alwaysOn');
    await using instance = await fixture.startInstance({ memoryBytesMax: '64MB' });
    // The verifier needs more memory.
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
    await instance.until(
      'it tries to write',
      ({ warnings }) => warnings?.some(({ name }) => name === 'retrying') === true,
    );
    await append(documentsBefore, documentsBefore + documentsMeanwhile);
    await lines.updateOne({ _id: documentsBefore }, { $set: { text: randomBytes(documentBytes) } });
    await failPoint('off');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    await expectEqualDatabases(fixture, 'logs');
  },
);
