import type { ReleaseSeries } from '@convoy/simulator';
import fc from 'fast-check';
import { BSON, Double, Int32, Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import { testSeed } from '../../../../../test/seed.js';
import { type Delta, deltaOf } from '../../../src/apply/delta.js';
import { writeDelta } from '../../../src/apply/write-delta.js';
import { mergeDeltas } from '../../../src/apply/action.js';
import { parseEvent } from '../../../src/apply/event.js';
import { deleteStatement, updateStatement } from '../../../src/bson/build.js';
import { decodeValue } from '../../../src/bson/scan.js';
import { openChangeStream } from '../../../src/cluster/change-stream.js';
import type { RawWrite } from '../../../src/cluster/node-client.js';
import { SplitCluster } from '../cluster/split-cluster.js';

/** Each history belongs to one document. */
const histories = 150;
const updatesMax = 8;
/** On the split collection's second shard. */
const sk = new Int32(1);

type Value = unknown;
type Doc = Map<string, Value>;

/** Includes names that look like indexes, which a JavaScript object would put first. */
const names = ['a', 'b', 'c', 'd', '0', '10', 'ä'] as const;
const paths = ['a', 'b', 'c', 'd', '0', '10', 'a.b', 'a.0', 'b.a', 'b.0.c', 'c.10', 'd.a.b', 'ä.d'] as const;
const scalars: fc.Arbitrary<Value> = fc.constantFrom<Value[]>(
  new Int32(1),
  new Double(2),
  '$b',
  'text',
  null,
  true,
  new Timestamp(0n),
);

const { value, inner } = fc.letrec<{ value: Value; inner: Doc }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalars, tie('inner'), fc.array(tie('value'), { maxLength: 3 })),
  inner: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), tie('value')), { selector: ([name]) => name, maxLength: 4 })
    .map((fields): Doc => new Map(fields)),
}));

const path = fc.constantFrom(...paths);
const name = fc.constantFrom(...names);
const fieldOf = (field: string, of: Value): Doc => new Map([[field, of]]);

/**
 * Names the fields of a document anew, in an order that need not be theirs. Sources before 6.0 do not show that a field
 * moves.
 */
const moved = fc
  .shuffledSubarray([...names], { minLength: 4 })
  .map((order) => [
    fieldOf(
      '$replaceWith',
      new Map([['_id', '$_id'], ['sk', '$sk'], ...order.map((field): [string, Value] => [field, valueOf(field)])]),
    ),
  ]);

function valueOf(field: string): Doc {
  return fieldOf('$getField', fieldOf('$literal', field));
}

/** Updates as users send them; servers refuse some, and some change nothing. */
const updates: readonly fc.Arbitrary<Doc | Doc[]>[] = [
  fc
    .uniqueArray(fc.tuple(path, value), { selector: ([field]) => field, minLength: 1, maxLength: 3 })
    .map((fields) => fieldOf('$set', new Map(fields))),
  fc
    .uniqueArray(path, { minLength: 1, maxLength: 3 })
    .map((fields) => fieldOf('$unset', new Map(fields.map((field) => [field, ''])))),
  fc
    .tuple(path, fc.array(value, { minLength: 1, maxLength: 2 }))
    .map(([field, each]) => fieldOf('$push', fieldOf(field, fieldOf('$each', each)))),
  fc.tuple(path, fc.constantFrom(1, -1)).map(([field, end]) => fieldOf('$pop', fieldOf(field, new Int32(end)))),
  path.map((field) => fieldOf('$inc', fieldOf(field, new Int32(1)))),
  fc.tuple(name, name).map(([from, to]) => fieldOf('$rename', fieldOf(from, to))),
  fc.tuple(path, inner).map(([field, of]) => [fieldOf('$set', fieldOf(field, fieldOf('$literal', of)))]),
  fc.uniqueArray(path, { minLength: 1, maxLength: 2 }).map((fields) => [fieldOf('$unset', fields)]),
  fc
    .tuple(name, value)
    .map(([field, of]) => [fieldOf('$unset', [field]), fieldOf('$set', fieldOf(field, fieldOf('$literal', of)))]),
];

const historyOf = (some: readonly fc.Arbitrary<Doc | Doc[]>[]) =>
  fc.record({
    first: inner,
    updates: fc.array(fc.oneof(...some), { minLength: 1, maxLength: updatesMax, size: 'max' }),
  });

const releases: [ReleaseSeries, ReturnType<typeof historyOf>][] = [
  ['5.0', historyOf(updates)],
  ['8.0', historyOf([...updates, moved])],
];

function filterOf(_id: number): Uint8Array {
  return BSON.serialize(
    new Map<string, unknown>([
      ['sk', sk],
      ['_id', new Int32(_id)],
    ]),
  );
}

/** The updates of each document in stream order; null if one was a replacement, which needs no folding. */
type Shown = Map<number, Uint8Array[] | null>;

const title = "random updates of a document, folded as far as possible, produce the source's bytes: on %s";
test.each(releases)(title, async (release, history) => {
  await using servers = await SplitCluster.start({ direct: false, release });
  const played = fc.sample(history, { numRuns: histories, seed: testSeed });
  const documents = played.map(({ first }, _id) =>
    BSON.serialize(new Map<string, unknown>([['_id', new Int32(_id)], ['sk', sk], ...first])),
  );
  const collection = new Collection(servers);
  await collection.write('insert', documents);
  // The server has replaced empty timestamps with its time.
  const first = await collection.documents();
  const since = await collection.time();
  for (let turn = 0; turn < updatesMax; turn += 1) await collection.write('update', updatesOf(played, turn));
  await collection.write('insert', [
    BSON.serialize(
      new Map<string, unknown>([
        ['_id', new Int32(histories)],
        ['sk', sk],
      ]),
    ),
  ]);
  const deltas = [...(await collection.updatesSince(since))].map(([_id, shown]) => ({ _id, deltas: foldAll(shown) }));
  const wanted = await collection.documents();

  await collection.write(
    'delete',
    documents.map((_, _id) => deleteStatement(filterOf(_id))),
  );
  await collection.write(
    'insert',
    [...first.values()].map((hex) => Buffer.from(hex, 'hex')),
  );
  for (let turn = 0; turn < updatesMax; turn += 1) {
    await collection.write(
      'update',
      deltas.flatMap(({ _id, deltas: all }) =>
        all
          .slice(turn, turn + 1)
          .map((delta) => updateStatement(filterOf(_id), { write: (builder) => writeDelta(builder, delta) })),
      ),
    );
  }
  const copies = await collection.documents();
  const folded = deltas.filter(({ deltas: all }) => all.length > 0);
  for (const { _id } of folded) expect(copies.get(_id), `document ${_id} of seed ${testSeed}`).toBe(wanted.get(_id));
  expect(folded.length).toBeGreaterThan(histories / 10);
});

/** The next update of each history. */
function updatesOf(played: readonly { updates: readonly (Doc | Doc[])[] }[], turn: number): Uint8Array[] {
  return played.flatMap(({ updates: all }, _id) => {
    const u = all[turn];
    return u === undefined
      ? []
      : [
          BSON.serialize(
            new Map<string, unknown>([
              [
                'q',
                new Map([
                  ['sk', sk],
                  ['_id', new Int32(_id)],
                ]),
              ],
              ['u', u],
            ]),
          ),
        ];
  });
}

/**
 * The fewest deltas into which they can be folded; none if one of them cannot be replayed exactly and the document is
 * read again.
 */
function foldAll(shown: readonly Uint8Array[] | null): Delta[] {
  const folded: Delta[] = [];
  for (const description of shown ?? []) {
    const delta = deltaOf(description);
    if (delta === null) return [];
    const last = folded.at(-1);
    const merged = last === undefined ? null : mergeDeltas(last, delta);
    if (merged === null) folded.push(delta);
    else folded[folded.length - 1] = merged;
  }
  return folded;
}

/** The split collection, by its bytes. */
class Collection {
  constructor(private readonly servers: SplitCluster) {}

  /** An update that the server refuses is skipped and leaves the document unchanged. */
  async write(kind: RawWrite['kind'], statements: readonly Uint8Array[]): Promise<void> {
    const {
      cluster: { router },
      signal,
    } = this.servers;
    if (statements.length > 0)
      await router.write({ database: 'db', collection: 'coll', kind, statements, ordered: false }, null, { signal });
  }

  async time(): Promise<Timestamp> {
    const { operationTime } = await this.servers.cluster.router.command(
      'admin',
      { ping: 1 },
      { signal: this.servers.signal },
    );
    return operationTime as Timestamp;
  }

  /** Up to the last document. */
  async updatesSince(time: Timestamp): Promise<Shown> {
    const {
      cluster: { router },
      signal,
    } = this.servers;
    const shown: Shown = new Map();
    const cursor = await openChangeStream(router, {
      startAtOperationTime: time,
      batchDocumentsMax: 10_000,
      signal,
      allChangesForCluster: false,
      database: 'db',
      collection: 'coll',
      version: this.servers.cluster.version,
      rawUpdateDescriptions: true,
    });
    for (let batch = cursor.first; ; batch = await cursor.next({ signal, maxTime_ms: 1_000 })) {
      for (const bytes of batch.documents) {
        const parsed = parseEvent(bytes);
        if (parsed.kind !== 'data') continue;
        const { id, operation, updateDescription } = parsed.event;
        const _id = Number(decodeValue(id));
        if (_id === histories) return shown;
        const before = shown.get(_id);
        if (operation === 'update' && updateDescription !== null)
          shown.set(_id, before === null ? null : [...(before ?? []), updateDescription.slice()]);
        if (operation === 'replace') shown.set(_id, null);
      }
    }
  }

  /** By `_id`, in hexadecimal. */
  async documents(): Promise<Map<number, string>> {
    const {
      cluster: { router },
      signal,
    } = this.servers;
    const cursor = await router.openCursor('db', { find: 'coll', batchSize: 10_000 }, { signal });
    return new Map(
      cursor.first.documents.map((bytes) => [
        Number(BSON.deserialize(bytes)['_id']),
        Buffer.from(bytes).toString('hex'),
      ]),
    );
  }
}
