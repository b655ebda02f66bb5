import { Int32 } from 'bson';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument } from '../../../src/bson/encode.js';
import { type Doc, RawDocument, type Value } from '../../../src/bson/value.js';
import { CommandError } from '../../../src/node/command.js';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { scalar } from '../bson/arbitrary-value.js';
import { ShardFixture } from '../shard/shard-fixture.js';
import { edited, edits } from './edited-document.js';
import { descriptionOf, replayed } from './replay-event.js';
import { runs } from './runs.js';

/** Few names, so that updates meet what is there; numbers stand for names and for indexes. */
const plainName = fc.constantFrom('a', 'b', 'c', '0', '1');
/** Names with dots too; none is the path to another field, for two changes under one text cannot be told apart. */
const anyName = fc.constantFrom('a', 'b', '0', '1', 'x.y', 'x.0', '1.y');

function documents(name: fc.Arbitrary<string>): fc.Arbitrary<Doc> {
  const tree = fc.letrec<{ value: Value; fields: Doc }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      { arbitrary: scalar, weight: 2 },
      { arbitrary: tie('fields'), weight: 2 },
      { arbitrary: fc.array(tie('value'), { maxLength: 4 }), weight: 2 },
    ),
    fields: fc
      .uniqueArray(fc.tuple(name, tie('value')), { maxLength: 4, selector: ([each]) => each })
      .map((fields) => new Map(fields)),
  }));
  return tree.fields;
}

const path = fc.array(plainName, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const operand = fc.oneof(scalar, documents(plainName));
const on = (operator: string, argument: fc.Arbitrary<Value>): fc.Arbitrary<[string, Doc]> =>
  fc
    .uniqueArray(fc.tuple(path, argument), { minLength: 1, maxLength: 2, selector: ([each]) => each })
    .map((fields) => [operator, new Map(fields)]);
const each = (values: fc.Arbitrary<Value[]>, more: readonly [string, Value][] = []): fc.Arbitrary<Value> =>
  values.map((list) => new Map<string, Value>([['$each', list], ...more]));

const operators: fc.Arbitrary<Doc> = fc
  .uniqueArray(
    fc.oneof(
      on('$set', operand),
      on('$unset', fc.constant('')),
      on(
        '$inc',
        fc.integer({ min: -3, max: 3 }).map((number) => new Int32(number)),
      ),
      on(
        '$push',
        fc.oneof(
          operand,
          each(fc.array(operand, { maxLength: 3 })),
          each(fc.array(operand, { maxLength: 2 }), [
            ['$position', new Int32(0)],
            ['$slice', new Int32(3)],
          ]),
        ),
      ),
      on('$addToSet', operand),
      on('$pop', fc.constantFrom(new Int32(1), new Int32(-1))),
      on('$pull', operand),
      on('$min', operand),
      on('$rename', path),
    ),
    { minLength: 1, maxLength: 2, selector: ([operator]) => operator },
  )
  .map((fields) => new Map<string, Value>(fields));

/** Enough bytes stay that the changes are shorter than the document. */
const ballast: [string, Value] = ['ballast', 'x'.repeat(2_000)];

/** A document, and what a pipeline makes of it by changing a little. */
const edit = (name: fc.Arbitrary<string>): fc.Arbitrary<[Doc, Doc]> =>
  fc
    .tuple(documents(name), edits(name, fc.oneof(scalar, documents(name))))
    .map(([fields, changes]) => [fields, edited(fields, changes)]);

function changedByPipeline(
  release: ReleaseSeries,
  stored: Doc,
  target: Doc,
  expanded: boolean,
): Promise<Change | undefined> {
  const literal: Doc = new Map<string, Value>([['_id', 'x'], ...target, ballast]);
  return changed(
    release,
    new Map([...stored, ballast]),
    [new Map([['$replaceWith', new Map([['$literal', literal]])]])],
    expanded,
  );
}

interface Change {
  before: Doc;
  after: Doc;
  event: Doc | undefined;
}

/**
 * Updates a stored document by a command and gives it before and after with the event that a stream shows; undefined
 * for an update that is refused.
 */
async function changed(
  release: ReleaseSeries,
  stored: Doc,
  update: Value,
  expanded: boolean,
): Promise<Change | undefined> {
  using fixture = new ShardFixture({ deployment: new Deployment(ServerVersion.parse(release)) });
  await fixture.run('db', { insert: 'c', documents: [new Map<string, Value>([['_id', 'x'], ...stored])] });
  const before = await storedDocument(fixture);
  const startAtOperationTime = fixture.clock.tick();
  try {
    const reply = await fixture.run('db', {
      update: 'c',
      updates: [
        new Map<string, Value>([
          ['q', new Map([['_id', 'x']])],
          ['u', update],
        ]),
      ],
    });
    if (reply.has('writeErrors')) return undefined;
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
  const stream = new Map<string, Value>([
    ['startAtOperationTime', startAtOperationTime],
    ...(expanded ? ([['showExpandedEvents', true]] as const) : []),
  ]);
  const { cursor } = Object.fromEntries(
    await fixture.run('db', { aggregate: 'c', pipeline: [new Map([['$changeStream', stream]])], cursor: new Map() }),
  ) as { cursor: Doc };
  const [event] = cursor.get('firstBatch') as RawDocument[];
  return {
    before,
    after: await storedDocument(fixture),
    event: event === undefined ? undefined : decodeDocument(event.bytes),
  };
}

async function storedDocument(fixture: ShardFixture): Promise<Doc> {
  const reply = await fixture.run('db', { find: 'c' });
  const [found] = (reply.get('cursor') as Doc).get('firstBatch') as RawDocument[];
  if (found === undefined) throw new Error('the document is gone');
  return decodeDocument(found.bytes);
}

/**
 * The fields that stay are in their old order and new ones behind them, in every document that both have: only then
 * does an event show the order.
 */
function keepsOrder(before: Value, after: Value): boolean {
  if (Array.isArray(before) && Array.isArray(after))
    return after.every((item, at) => at >= before.length || keepsOrder(before[at] ?? null, item));
  if (!(before instanceof Map) || !(after instanceof Map)) return true;
  const stayed = [...before.keys()].filter((name) => after.has(name));
  const names = [...after.keys()];
  return (
    stayed.every((name, at) => names[at] === name) &&
    stayed.every((name) => keepsOrder(before.get(name) ?? null, after.get(name) ?? null))
  );
}

function inNameOrder(value: Value): Value {
  if (Array.isArray(value)) return value.map(inNameOrder);
  return value instanceof Map
    ? new Map(
        [...value]
          .map(([name, inner]): [string, Value] => [name, inNameOrder(inner)])
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      )
    : value;
}

function expectReplay({ before, after, event }: Change, byteForByte: boolean): void {
  if (event === undefined) {
    expect(encodeDocument(after).equals(encodeDocument(before))).toBe(true);
    return;
  }
  if (event.get('operationType') === 'replace') {
    expect(encodeDocument(event.get('fullDocument') as Doc).equals(encodeDocument(after))).toBe(true);
    return;
  }
  const again = replayed(before, descriptionOf(event));
  const [left, right] = byteForByte ? [again, after] : [inNameOrder(again) as Doc, inNameOrder(after) as Doc];
  expect(encodeDocument(left)).toEqual(encodeDocument(right));
}

describe.each(['5.0', '8.0'] as const)('an update event of %s, replayed', (release) => {
  it('gives the same bytes after operators', async () => {
    await fc.assert(
      fc.asyncProperty(documents(plainName), operators, async (stored, update) => {
        const change = await changed(release, stored, update, false);
        if (change !== undefined) expectReplay(change, true);
      }),
      runs(200, 2_000),
    );
  });

  it('gives the same document after a pipeline, and the same bytes when the order of fields stays', async () => {
    await fc.assert(
      fc.asyncProperty(edit(plainName), async ([stored, target]) => {
        const change = await changedByPipeline(release, stored, target, false);
        if (change !== undefined) expectReplay(change, keepsOrder(change.before, change.after));
      }),
      runs(100, 1_500),
    );
  });

  it('gives the same bytes after a replacement, names with dots and all', async () => {
    await fc.assert(
      fc.asyncProperty(documents(anyName), documents(anyName), async (stored, replacement) => {
        const change = await changed(release, stored, replacement, false);
        if (change !== undefined) expectReplay(change, true);
      }),
      runs(50, 1_000),
    );
  });
});

describe('an expanded update event of 8.0, replayed', () => {
  it('distinguishes names with dots and numbers from paths', async () => {
    await fc.assert(
      fc.asyncProperty(edit(anyName), async ([stored, target]) => {
        const change = await changedByPipeline('8.0', stored, target, true);
        if (change !== undefined) expectReplay(change, keepsOrder(change.before, change.after));
      }),
      runs(100, 1_500),
    );
  });
});
