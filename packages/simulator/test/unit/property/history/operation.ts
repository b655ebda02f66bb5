import fc from 'fast-check';

/** One write to the documents of the collection; documents are named by small numbers, which are their `_id`. */
export type Write =
  | { kind: 'insert' | 'upsert'; id: number; k: number; v: number }
  | { kind: 'set' | 'replace' | 'findAndModify'; id: number; v: number }
  | { kind: 'moveKey'; id: number; k: number }
  | { kind: 'unset'; id: number }
  | { kind: 'delete' | 'findAndRemove'; id: number }
  | { kind: 'incrementMany' | 'deleteMany'; above: number };

/** A step of a history. */
export type Operation =
  | { kind: 'write'; write: Write }
  | { kind: 'bulk'; writes: Write[]; ordered: boolean }
  | { kind: 'transaction'; writes: Write[]; commits: boolean }
  | { kind: 'split'; k: number }
  | { kind: 'moveChunk'; k: number; shard: number }
  | { kind: 'createIndex' | 'dropIndex' | 'collMod' | 'rename' | 'dropAndShardAgain' }
  /** Remembers the time and the documents, to be read again at that time later. */
  | { kind: 'remember' };

/** A step and the router that it goes through. */
export interface Step {
  router: 0 | 1;
  operation: Operation;
}

const id = fc.nat(9);
const k = fc.integer({ min: -20, max: 20 });
const v = fc.nat(5);

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('insert' as const), id, k, v }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('upsert' as const), id, k, v }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('set' as const, 'replace' as const, 'findAndModify' as const),
      id,
      v,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('moveKey' as const), id, k }) },
  {
    weight: 2,
    arbitrary: fc.oneof(
      fc.record({ kind: fc.constant('unset' as const), id }),
      fc.record({ kind: fc.constantFrom('delete' as const, 'findAndRemove' as const), id }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('incrementMany' as const, 'deleteMany' as const), above: fc.nat(5) }),
  },
);
const writes = fc.array(write, { minLength: 1, maxLength: 4 });

/** Writes without those that a bulk cannot hold. */
const bulkWrites = writes
  .map((list) => list.filter(({ kind }) => kind !== 'findAndModify' && kind !== 'findAndRemove' && kind !== 'moveKey'))
  .filter((list) => list.length > 0);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('write' as const), write }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('bulk' as const), writes: bulkWrites, ordered: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('transaction' as const),
      writes,
      commits: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('split' as const), k }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('moveChunk' as const), k, shard: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'createIndex' as const,
        'dropIndex' as const,
        'collMod' as const,
        'rename' as const,
        'dropAndShardAgain' as const,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'remember' as const }) },
);

/** Any history of some length. */
export const histories: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ router: fc.constantFrom(0 as const, 1 as const), operation }),
  { minLength: 1, maxLength: 40 },
);
