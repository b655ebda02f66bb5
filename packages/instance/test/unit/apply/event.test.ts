import { readFileSync } from 'node:fs';
import { BSON, type Document, type Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { parseEvent } from '../../../src/apply/event.js';
import { decodeValue } from '../../../src/bson/scan.js';

interface Recorded {
  file: string;
  step: number;
  on: string;
  event: Document;
}

/** Every change event of a real 5.0.7 in these scenarios. */
function recordedEvents(file: string): Recorded[] {
  const lines = readFileSync(new URL(`../../../../simulator/corpus/${file}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n');
  return lines.flatMap((line) => {
    const step = BSON.EJSON.parse(line, { relaxed: false }) as {
      step: number;
      on: string;
      reply?: { cursor?: Document };
    };
    const cursor = step.reply?.cursor;
    const batch = [
      ...((cursor?.nextBatch as Document[] | undefined) ?? []),
      ...((cursor?.firstBatch as Document[] | undefined) ?? []),
    ];
    return batch
      .filter((event) => 'operationType' in event)
      .map((event) => ({ file, step: step.step, on: step.on, event }));
  });
}

const events = ['04-events-documents', '05-events-ddl', '11-transactions'].flatMap(recordedEvents);
const dataOperations = ['insert', 'update', 'replace', 'delete'];

function encoded(value: unknown): string {
  return Buffer.from(BSON.serialize({ v: value })).toString('hex');
}

function parsedData(event: Document) {
  const parsed = parseEvent(BSON.serialize(event));
  if (parsed.kind !== 'data') throw new Error('not a change of a document');
  return parsed;
}

describe('a recorded event', () => {
  it('exists for every operation', () => {
    const kinds = new Set(events.map(({ event }) => String(event.operationType)));
    expect([...kinds].sort()).toEqual(['delete', 'drop', 'dropDatabase', 'insert', 'rename', 'replace', 'update']);
  });

  it.each(events.filter(({ event }) => dataOperations.includes(String(event.operationType))))(
    'of a document is parsed without loss: $file step $step on $on',
    ({ event }) => {
      const { database, name, event: change } = parsedData(event);
      const { db, coll } = event.ns as { db: string; coll: string };
      expect([database, name]).toEqual([db, coll]);
      expect(change.operation).toBe(event.operationType);
      expect(change.time).toBe((event.clusterTime as Timestamp).toBigInt());
      expect(encoded(decodeValue(change.id))).toBe(encoded((event.documentKey as Document)._id));
      expect(Buffer.from(change.documentKey)).toEqual(Buffer.from(BSON.serialize(event.documentKey as Document)));
      const full = event.fullDocument as Document | null | undefined;
      expect(change.fullDocument === null ? null : Buffer.from(change.fullDocument)).toEqual(
        full == null ? null : Buffer.from(BSON.serialize(full)),
      );
      expect(change.updateDescription !== null).toBe('updateDescription' in event);
      expect(change.inTransaction).toBe('txnNumber' in event);
      const token = (event._id as { _data: string })._data;
      expect(token.toLowerCase()).toContain(`5a1004${change.uuid}`);
    },
  );

  it.each(events.filter(({ event }) => !dataOperations.includes(String(event.operationType))))(
    'of DDL names its namespaces: $file step $step on $on',
    ({ event }) => {
      const parsed = parseEvent(BSON.serialize(event));
      const { db, coll } = event.ns as { db: string; coll?: string };
      const to = event.to as { db: string; coll: string } | undefined;
      expect(parsed).toEqual({
        kind: 'other',
        event: {
          operation: String(event.operationType),
          time: (event.clusterTime as Timestamp).toBigInt(),
          database: db,
          name: coll ?? '',
          to: to === undefined ? null : { database: to.db, name: to.coll },
        },
      });
    },
  );
});

describe('an event of later servers', () => {
  const insert = events.find(({ event }) => event.operationType === 'insert')?.event ?? {};

  it('has the UUID in a field', () => {
    const collectionUUID = new BSON.UUID('aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee');
    expect(parsedData({ ...insert, collectionUUID }).event.uuid).toBe('aaaaaaaabbbb4ccc8dddeeeeeeeeeeee');
  });

  it("has the oplog's diff in place of the update description", () => {
    const update = events.find(({ event }) => event.operationType === 'update')?.event ?? {};
    const rawUpdateDescription = { $v: 2, diff: { u: { a: 1 } } };
    const { updateDescription, ...others } = update;
    expect(updateDescription).toBeDefined();
    const { event } = parsedData({ ...others, rawUpdateDescription });
    expect(Buffer.from(event.updateDescription ?? [])).toEqual(Buffer.from(BSON.serialize(rawUpdateDescription)));
  });

  it.each([
    { operationType: 'kindOfTomorrow' },
    { operationType: 'endOfTransaction', lsid: {}, txnNumber: 5 },
    { operationType: 'reshardBegin', ns: { db: 'shop', coll: 'orders' }, operationDescription: {} },
    { operationType: 'create', ns: { db: 'shop', coll: 'orders' }, nsType: 'view' },
  ])('is a DDL event when its operation is another: %o', (event) => {
    expect(
      parseEvent(
        BSON.serialize({ _id: insert['_id'] as unknown, clusterTime: insert['clusterTime'] as unknown, ...event }),
      ),
    ).toMatchObject({ kind: 'other', event: { operation: event.operationType } });
  });

  it('has a null document when the lookup found none', () => {
    expect(parsedData({ ...insert, operationType: 'update', fullDocument: null }).event.fullDocument).toBeNull();
  });
});

describe('bytes that are no change event', () => {
  const insert = events.find(({ event }) => event.operationType === 'insert')?.event ?? {};

  it.each(['operationType', 'clusterTime', 'documentKey', '_id'])('because %s is missing are refused', (field) => {
    const rest = Object.entries(insert).filter(([name]) => name !== field);
    expect(() => parseEvent(BSON.serialize(Object.fromEntries(rest)))).toThrow(RangeError);
  });

  it.each([{ documentKey: { sk: 1 } }, { _id: { _data: '82' } }, { _id: {} }])(
    'because of %o are refused',
    (change) => {
      expect(() => parseEvent(BSON.serialize({ ...insert, ...change }))).toThrow(RangeError);
    },
  );
});
