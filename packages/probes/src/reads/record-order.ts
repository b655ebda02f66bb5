import type { Document } from 'mongodb';
import { asLong } from '../framework/event-stream.js';
import { cursorIn, expectRefused, expectSame } from '../framework/expectation.js';
import type { Fixture } from '../framework/fixture.js';
import type { Probe } from '../framework/probe.js';
import { at } from './reads-at-a-time.js';

const corpus = 'corpus 40-record-order';
const inserted = [{ _id: 3 }, { _id: 1 }, { _id: 2 }];
/** A scan in record order whose batches have their position. */
const scan = { hint: { $natural: 1 }, $_requestResumeToken: true };

/** The position after the first documents of a scan, and those documents. */
async function scanned(fixture: Fixture, name: string, batchSize: number, more: Document): Promise<Document[]> {
  const {
    id = 0,
    firstBatch = [],
    postBatchResumeToken,
  } = cursorIn(await fixture.done({ find: name, batchSize, ...scan, ...more }, fixture.shard));
  await fixture.done({ killCursors: name, cursors: [asLong(id)] }, fixture.shard);
  const { $recordId } = (postBatchResumeToken ?? {}) as { $recordId?: number };
  return [{ $recordId: asLong($recordId ?? 0) }, ...firstBatch];
}

/** Scans in the order of records, as `copyInNaturalOrder` makes them. */
export const recordOrder: readonly Probe[] = [
  {
    name: 'scan-continues-after-a-position',
    sentence:
      'A find in natural order with $_requestResumeToken has a position; with $_resumeAfter, also at another time, ' +
      'it continues with the record after it.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A copy in natural order may leave out documents, or begins again in _id order.',
    async run(fixture) {
      const [name, time] = await fixture.filled(inserted);
      const [position, ...first] = await scanned(fixture, name, 2, at(time));
      expectSame('documents in the order of their records', first, inserted.slice(0, 2));
      const later = await fixture.insert(name, [{ _id: 0 }]);
      const rest = { find: name, ...scan, $_resumeAfter: position };
      expectSame('the rest', await fixture.rows({ ...rest, ...at(time) }, fixture.shard), inserted.slice(2));
      expectSame('the rest at a later time', await fixture.rows({ ...rest, ...at(later) }, fixture.shard), [
        ...inserted.slice(2),
        { _id: 0 },
      ]);
    },
  },
  {
    name: 'position-needs-its-record',
    sentence: 'A position whose record is deleted is refused with KeyNotFound (211).',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A copy in natural order may continue at another place than it thinks.',
    async run(fixture) {
      const [name, time] = await fixture.filled(inserted);
      const [position] = await scanned(fixture, name, 1, at(time));
      await fixture.remove(name, { _id: 3 }, { writeConcern: { w: 'majority' } });
      const find = { find: name, ...scan, $_resumeAfter: position };
      expectRefused('the scan', await fixture.ask(find, fixture.shard), 211);
    },
  },
];
