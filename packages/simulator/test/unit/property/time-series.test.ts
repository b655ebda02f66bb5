import { Binary, Double, Int32, type ObjectId, type Timestamp } from 'bson';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareValues } from '../../../src/bson/compare.js';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument, encodeValue } from '../../../src/bson/encode.js';
import { DateTime, type Doc, RawDocument, type Value } from '../../../src/bson/value.js';
import { docOrEmpty, numberOf } from '../../../src/node/doc-fields.js';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { measurementsOf, metadataOf, readBucket } from '../../../src/time-series/bucket.js';
import { ShardFixture } from '../shard/shard-fixture.js';
import { streamStage } from '../shard/change-stream/stream-stage.js';
import { runs } from './runs.js';

const series = { timeField: 't', metaField: 'm', maxSpan_seconds: 3600, rounding_seconds: 60 };
const start = 1_700_000_000_000;

const metadata = fc.constantFrom<Value | undefined>(
  undefined,
  null,
  new Int32(1),
  'a',
  new Map([['b', new Int32(1)]]),
  new Map<string, Value>([
    ['d', 'x'],
    ['c', [new Int32(1)]],
  ]),
);
const field = fc.constantFrom<Value | undefined>(
  undefined,
  new Int32(0),
  new Int32(-5),
  new Int32(2 ** 31 - 1),
  new Double(0.5),
  'text',
  null,
  new Map<string, Value>([['x', new Int32(1)]]),
  new Map<string, Value>([['x', 'y']]),
  [new Int32(1), 'z'],
);

/** A measurement; its `n` is unique. */
const measurement = fc.record({
  // Within three hours, often close together and backwards.
  seconds: fc.oneof(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 10_800 })),
  meta: metadata,
  v: field,
  w: field,
});
type Drawn = typeof measurement extends fc.Arbitrary<infer T> ? T : never;

const operation = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      ordered: fc.boolean(),
      many: fc.array(measurement, { minLength: 1, maxLength: 8 }),
    }),
    weight: 6,
  },
  { arbitrary: fc.record({ kind: fc.constant('deleteMeta' as const), meta: metadata }), weight: 1 },
  {
    arbitrary: fc.record({ kind: fc.constant('deleteSome' as const), rest: fc.integer({ min: 0, max: 4 }) }),
    weight: 1,
  },
  { arbitrary: fc.record({ kind: fc.constant('restart' as const) }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('touch' as const) }), weight: 1 },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

class DrivenSeries implements Disposable {
  readonly fixture: ShardFixture;
  readonly from: Timestamp;
  /** Encoded measurements by their number. */
  readonly model = new Map<number, Doc>();
  #next = 0;

  constructor(private readonly release: ReleaseSeries) {
    this.fixture = new ShardFixture({ deployment: new Deployment(ServerVersion.parse(release)) });
    this.from = this.fixture.now();
  }

  async run(operations: readonly Operation[]): Promise<void> {
    await this.fixture.run('db', { create: 's', timeseries: { timeField: 't', metaField: 'm' } });
    for (const each of operations) await this.#carryOut(each);
  }

  async #carryOut(each: Operation): Promise<void> {
    switch (each.kind) {
      case 'insert':
        return this.#insert(each.many, each.ordered);
      case 'deleteMeta':
        return this.#deleteMeta(each.meta);
      case 'deleteSome':
        return this.#deleteSome(each.rest);
      case 'restart':
        this.fixture.shard.crash();
        this.fixture.shard.resume();
        return;
      case 'touch': {
        // Somebody else writes a bucket: the shard appends to it no more, or reads it anew.
        const pipeline = [{ $set: { 'control.touched': 1 } }, { $unset: 'control.touched' }];
        await this.fixture.run('db', {
          update: 'system.buckets.s',
          updates: [{ q: {}, u: pipeline }],
          bypassDocumentValidation: true,
        });
      }
    }
  }

  async #insert(many: readonly Drawn[], ordered: boolean): Promise<void> {
    const documents = many.map(({ seconds, meta, v, w }) => {
      this.#next += 1;
      const fields: [string, Value | undefined][] = [
        ['_id', new Int32(this.#next)],
        ['n', new Int32(this.#next)],
        ['t', new DateTime(BigInt(start + seconds * 1000))],
        ['m', meta],
        ['v', v],
        ['w', w],
      ];
      const document: Doc = new Map(fields.filter((each): each is [string, Value] => each[1] !== undefined));
      this.model.set(this.#next, document);
      return document;
    });
    const reply = await this.fixture.json('db', { insert: 's', documents, ordered });
    expect([reply['n'], reply['writeErrors']]).toEqual([many.length, undefined]);
  }

  async #deleteMeta(meta: Value | undefined): Promise<void> {
    const q: Doc = new Map([['m', meta === undefined ? new Map([['$exists', false]]) : new Map([['$eq', meta]])]]);
    const deletes = [
      new Map<string, Value>([
        ['q', q],
        ['limit', new Int32(0)],
      ]),
    ];
    await this.fixture.run('db', { delete: 's', deletes });
    for (const [n, document] of this.model) {
      const own = metadataOf(document, series);
      // Null is found in place of what is missing, too.
      const isMissing = own === undefined && meta === null;
      const isEqual = own === undefined || meta === undefined ? own === meta : compareValues(own, meta) === 0;
      if (isMissing || isEqual) this.model.delete(n);
    }
  }

  async #deleteSome(rest: number): Promise<void> {
    if (!ServerVersion.parse(this.release).atLeast(7)) return;
    await this.fixture.run('db', { delete: 's', deletes: [{ q: { n: { $mod: [5, rest] } }, limit: 0 }] });
    for (const n of this.model.keys()) if (n % 5 === rest) this.model.delete(n);
  }

  async documents(collection: string): Promise<Doc[]> {
    const reply = await this.fixture.run('db', { find: collection, batchSize: 10_000 });
    const batch = docOrEmpty(reply.get('cursor')).get('firstBatch') as RawDocument[];
    return batch.map(({ bytes }) => decodeDocument(bytes));
  }

  [Symbol.dispose](): void {
    this.fixture[Symbol.dispose]();
  }
}

function inOrder(measurements: Iterable<Doc>): string[] {
  const text = (value: Value): string =>
    value instanceof Map
      ? `{${[...value]
          .map(([name, inner]) => `${name}:${text(inner)}`)
          .sort()
          .join()}}`
      : Array.isArray(value)
        ? `[${value.map(text).join()}]`
        : encodeValue(value).toString('hex');
  return [...measurements].map(text).sort();
}

/** Buckets as the events of a stream leave them. */
function replayedBuckets({ fixture, from }: DrivenSeries): Map<string, Doc> {
  const stream = fixture.shard.access.openStream({
    scope: { kind: 'cluster' },
    start: { kind: 'time', clusterTime: from },
    stage: streamStage({ showSystemEvents: true, showRawUpdateDescription: true }),
    merged: false,
    pipeline: [],
  });
  const buckets = new Map<string, Doc>();
  for (let events = stream.take(1000, Infinity); events.length > 0; events = stream.take(1000, Infinity))
    for (const { bytes } of events) apply(buckets, decodeDocument(bytes));
  return buckets;
}

function apply(buckets: Map<string, Doc>, event: Doc): void {
  if (docOrEmpty(event.get('ns')).get('coll') !== 'system.buckets.s') return;
  const id = (docOrEmpty(event.get('documentKey')).get('_id') as ObjectId).toHexString();
  const known = buckets.get(id);
  switch (event.get('operationType')) {
    case 'delete':
      buckets.delete(id);
      break;
    case 'update': {
      const diff = docOrEmpty(docOrEmpty(event.get('rawUpdateDescription')).get('diff'));
      buckets.set(id, patched(known ?? new Map<string, Value>(), diff));
      break;
    }
    default:
      buckets.set(id, docOrEmpty(event.get('fullDocument')));
  }
}

/** A document after a change as servers log it. */
function patched(before: Doc, diff: Doc): Doc {
  const after: Doc = new Map(before);
  for (const [section, change] of diff) {
    const fields = docOrEmpty(change);
    if (section === 'd') for (const name of fields.keys()) after.delete(name);
    else if (section === 'u' || section === 'i') for (const [name, value] of fields) after.set(name, value);
    else if (section === 'b')
      for (const [name, part] of fields) after.set(name, joined(after.get(name) as Binary, docOrEmpty(part)));
    else after.set(section.slice(1), patched(docOrEmpty(after.get(section.slice(1))), fields));
  }
  return after;
}

function joined(column: Binary, part: Doc): Binary {
  const kept = column.value().subarray(0, numberOf(part.get('o')));
  return new Binary(Buffer.concat([kept, (part.get('d') as Binary).value()]), column.sub_type);
}

/** What holds of every bucket that a server has written. */
function expectWhole(bucket: Doc, release: ServerVersion): void {
  const control = docOrEmpty(bucket.get('control'));
  const { id, count, version, min, max } = readBucket(bucket, series);
  const measurements = measurementsOf(readBucket(bucket, series), series);
  const times = measurements.map((each) => (each.get('t') as DateTime).ms);
  const first = (min.get('t') as DateTime).ms;
  expect(count).toBeGreaterThan(0);
  expect(Math.floor(Number(first) / 1000)).toBe(id.getTimestamp().getTime() / 1000);
  expect(times.every((time) => time >= first && time - first < 3_600_000n)).toBe(true);
  expect((max.get('t') as DateTime).ms).toBe(times.reduce((a, b) => (a > b ? a : b)));
  if (version > 1) expect(numberOf(control.get('count'))).toBe(count);
  else expect(control.has('count')).toBe(false);
  if (version === 2) expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
  if (release.atLeast(8)) expect(version).toBeGreaterThan(1);
  else expect(version).toBeLessThan(release.atLeast(6) ? 3 : 2);
}

describe('histories of measurements', () => {
  it.each(['5.0', '6.0', '7.0', '8.0'] as const)(
    'of %s leave them all, in buckets that are whole, which the events of a stream make too',
    async (release) => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 14 }), async (operations) => {
          using driven = new DrivenSeries(release);
          await driven.run(operations);
          expect(inOrder(await driven.documents('s'))).toEqual(inOrder(driven.model.values()));
          const buckets = await driven.documents('system.buckets.s');
          for (const bucket of buckets) expectWhole(bucket, ServerVersion.parse(release));
          const stored = new Map(buckets.map((each) => [(each.get('_id') as ObjectId).toHexString(), each]));
          const replayed = replayedBuckets(driven);
          expect(new Set(replayed.keys())).toEqual(new Set(stored.keys()));
          for (const [id, bucket] of stored)
            expect(encodeDocument(docOrEmpty(replayed.get(id))).equals(encodeDocument(bucket))).toBe(true);
        }),
        runs(25, 1500),
      );
    },
  );
});
