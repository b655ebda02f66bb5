import { Decimal128, Double, Int32, Long, type Collection, type Document } from 'mongodb';
import { afterAll, beforeAll, beforeEach, it } from 'vitest';
import fc from 'fast-check';
import { testSeed } from '../../../../../test/seed.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

interface Numbered {
  _id: Document;
  sk: number;
  list: { x: number }[];
}

const decimal = (text: string): Decimal128 => Decimal128.fromString(text);
const long = (text: string): Long => Long.fromString(text);

/** The numbers of a line are one `_id`; those of different lines are not, though some are nearly equal. */
const classes: unknown[][] = [
  [
    new Int32(1),
    new Double(1),
    long('1'),
    decimal('1'),
    decimal('1.0'),
    decimal('1.000000000000000000000000000000000'),
  ],
  [new Int32(0), new Double(-0), decimal('-0'), decimal('0E-6176')],
  [new Double(NaN), decimal('NaN'), decimal('-NaN')],
  [new Double(Infinity), decimal('Infinity')],
  [new Double(-Infinity), decimal('-Infinity')],
  [new Double(0.1)],
  [decimal('0.1')],
  [decimal('0.1000000000000000055511151231257827')],
  [decimal('0.1000000000000000055511151231257828')],
  [new Double(2 ** 53), long('9007199254740992')],
  [long('9007199254740993'), decimal('9007199254740993')],
  [long('9223372036854775807'), decimal('9223372036854775807')],
  [new Double(2 ** 63), decimal('9223372036854775808')],
  [new Double(5e-324)],
  [decimal('4.940656458412465441765687928682214E-324')],
  [new Double(1e300)],
  [decimal('1E+300')],
  [new Double(1.5), decimal('1.50')],
  [{ a: new Int32(1) }, { a: decimal('1.0') }],
  [{ a: new Double(0.1) }],
  [{ a: decimal('0.1') }],
];

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

beforeEach(() => fixture.clear());

function documentOf(_id: unknown, n: number): Numbered {
  return { _id: _id as Document, sk: n % 2, list: [{ x: 0 }, { x: n }] };
}

/** A document under any of these numbers is changed, or replaced by one whose `_id` may have another type. */
const changes = fc.record({
  place: fc.nat(classes.length - 1),
  found: fc.nat(),
  next: fc.nat(),
  kind: fc.constantFrom('path', 'push', 'anew'),
});

async function change(
  numbers: Collection<Numbered>,
  { place, found, next, kind }: typeof changes extends fc.Arbitrary<infer Change> ? Change : never,
  n: number,
): Promise<void> {
  const same = classes[place] ?? [];
  const filter = { _id: same[found % same.length] as Document };
  if (kind === 'path') await numbers.updateOne(filter, { $set: { 'list.1.x': n } });
  else if (kind === 'push') await numbers.updateOne(filter, { $push: { list: { $each: [{ x: n }], $slice: -4 } } });
  else {
    await numbers.deleteOne(filter);
    await numbers.insertOne(documentOf(same[next % same.length], n));
  }
}

it.each<[string, Document | null]>([
  ['is not sharded', null],
  ['is sharded by another field', { sk: 'hashed' }],
  ['is sharded by ranges of _id', { _id: 1 }],
  ['is sharded by hashes of _id', { _id: 'hashed' }],
])('numbers that are one _id, or nearly, arrive with their types: the collection %s', async (_, key) => {
  const { client } = fixture.cluster0;
  if (key !== null) {
    await client.db('admin').command({ enableSharding: 'shop' });
    await client.db('admin').command({ shardCollection: 'shop.numbers', key });
  }
  const numbers = client.db('shop').collection<Numbered>('numbers');
  await numbers.insertMany(classes.map(([first], n) => documentOf(first, n)));
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  const all = fc.sample(changes, { numRuns: 400, seed: testSeed });
  // One worker for each remainder: changes of one `_id` are in their order, others are not.
  await Promise.all(
    [0, 1, 2].map(async (worker) => {
      for (const [n, each] of all.entries()) if (each.place % 3 === worker) await change(numbers, each, n);
    }),
  );
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});
