import { Binary, Int32, Long } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../../src/bson/decode.js';
import { encodeDocument } from '../../../../src/bson/encode.js';
import type { DocumentOperation, EntryNamespace, EntryTransaction } from '../../../../src/shard/oplog/entry.js';
import { oplogDocuments } from '../../../../src/shard/oplog/oplog-documents.js';
import { Oplog } from '../../../../src/shard/oplog/oplog.js';
import {
  writePrepared,
  writePreparedAbort,
  writePreparedCommit,
  writeTransaction,
} from '../../../../src/shard/oplog/transaction-entries.js';
import { ClusterClock } from '../../../../src/node/clock.js';
import { defaultVersion } from '../../../../src/node/server-version.js';
import { plain } from '../shard-fixture.js';

const target: EntryNamespace = {
  db: 'db',
  collection: 'c',
  uuid: new Binary(Buffer.alloc(16, 1), 4),
  shardKey: undefined,
  preImages: false,
};
const transaction: EntryTransaction = { lsid: new Map([['id', target.uuid]]), txnNumber: Long.fromNumber(7) };
const limits = { bytesMax: Infinity, operationsMax: 2 };

function inserts(count: number): DocumentOperation[] {
  return Array.from({ length: count }, (_, id) => ({
    kind: 'insert',
    target,
    document: encodeDocument(new Map([['_id', new Int32(id)]])),
  }));
}

function makeOplog(): Oplog {
  return new Oplog(new ClusterClock(() => 1_700_000_000_000), 1 << 20);
}

interface Logged {
  o: Record<string, unknown> & { applyOps?: unknown[] };
  prevOpTime?: { ts: unknown };
  ts: unknown;
}

/** The entries behind the first, as JSON. */
function logged(oplog: Oplog): Logged[] {
  return [...oplogDocuments(oplog, defaultVersion, 1)]
    .slice(1)
    .map((bytes) => plain(decodeDocument(bytes)) as unknown as Logged);
}

describe('a transaction in the oplog', () => {
  it('is one entry while it fits', () => {
    const oplog = makeOplog();
    writeTransaction(oplog, inserts(2), transaction, limits);
    const [only, ...others] = logged(oplog);
    expect(others).toEqual([]);
    expect(only?.o.applyOps).toHaveLength(2);
    expect(Object.keys(only ?? {})).toEqual([
      'lsid',
      'txnNumber',
      'op',
      'ns',
      'o',
      'ts',
      't',
      'v',
      'wall',
      'prevOpTime',
    ]);
  });

  it('is a chain of entries when it does not, and all of it belongs to the last', () => {
    const oplog = makeOplog();
    const time = writeTransaction(oplog, inserts(5), transaction, limits);
    const entries = logged(oplog);
    expect(entries.map(({ o }) => [o.applyOps?.length, o['partialTxn'], o['count']])).toEqual([
      [2, true, undefined],
      [2, true, undefined],
      [1, undefined, { $numberLong: '5' }],
    ]);
    expect(entries.map(({ prevOpTime }) => prevOpTime?.ts).slice(1)).toEqual(entries.map(({ ts }) => ts).slice(0, 2));
    expect([1, 2, 3].map((at) => oplog.at(at)?.operations.length)).toEqual([0, 0, 5]);
    expect(oplog.at(3)?.clusterTime).toEqual(time);
  });

  it('is cut where an entry would hold more than 16 MB', () => {
    const oplog = makeOplog();
    const document = encodeDocument(new Map([['_id', 'x'.repeat(6 * 1024 * 1024)]]));
    const operations: DocumentOperation[] = [1, 2, 3].map(() => ({ kind: 'insert', target, document }));
    writeTransaction(oplog, operations, transaction);
    expect([...oplogDocuments(oplog, defaultVersion, 1)]).toHaveLength(oplog.end - oplog.start);
    expect(oplog.end).toBe(3);
  });

  it('shows nothing while it is prepared, everything at its commit, and nothing after an abort', () => {
    const oplog = makeOplog();
    const committed = writePrepared(oplog, inserts(3), transaction, limits);
    const aborted = writePrepared(oplog, inserts(1), transaction, limits);
    expect([1, 2, 3].map((at) => oplog.at(at)?.operations.length)).toEqual([0, 0, 0]);
    const time = writePreparedCommit(oplog, committed, committed.prepareTime);
    writePreparedAbort(oplog, aborted);
    expect(oplog.at(4)).toMatchObject({ clusterTime: time, operations: committed.operations });
    expect(oplog.at(5)?.operations).toEqual([]);
    expect(logged(oplog).map(({ o }) => Object.keys(o))).toEqual([
      ['applyOps', 'partialTxn'],
      ['applyOps', 'prepare', 'count'],
      ['applyOps', 'prepare'],
      ['commitTransaction', 'commitTimestamp', 'prepared'],
      ['abortTransaction'],
    ]);
  });
});
