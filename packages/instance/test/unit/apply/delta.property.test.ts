import fc from 'fast-check';
import { Double, Int32, Timestamp, UUID } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '@convoy/simulator/internal/bson/decode';
import { encodeDocument } from '@convoy/simulator/internal/bson/encode';
import type { Doc, Value } from '@convoy/simulator/internal/bson/value';
import { ServerVersion } from '@convoy/simulator/internal/node/server-version';
import { describedUpdate } from '@convoy/simulator/internal/shard/change-stream/document-event';
import type { EventStyle } from '@convoy/simulator/internal/shard/change-stream/event-style';
import type { UpdateOperation } from '@convoy/simulator/internal/shard/oplog/entry';
import { applyUpdate } from '@convoy/simulator/internal/update/apply';
import { changedDocument, mergeDeltas } from '../../../src/apply/action.js';
import { type Delta, deltaOf } from '../../../src/apply/delta.js';
import { needsAbsence } from '../../../src/apply/write-delta.js';
import { deltaPipeline, deltaUpdate, updateOfAbsent } from './delta-pipeline.js';
import { elementType } from '../../../src/bson/element-type.js';

/** Names of bytes that are no UTF-8, as `decodeUtf8` gives them. */
const [oddName, otherOddName] = ['a\udcff', 'a\udce9'];
/** Names that look like paths, indexes and expressions. */
const names = ['a', 'b', 'c', '0', '1', 'a.b', 'b.0', '$a', '', 'ä', oddName, otherOddName] as const;
const plainNames = ['a', 'b', 'c', 'd', '0', 'ä', oddName, otherOddName] as const;

const scalars: fc.Arbitrary<Value> = fc.constantFrom<Value[]>(
  new Int32(1),
  new Int32(2),
  new Double(1),
  '$b',
  'text',
  null,
  true,
  new Timestamp({ t: 0, i: 0 }),
);

function documents(fieldNames: readonly string[]): fc.Arbitrary<Doc> {
  const { inner } = fc.letrec<{ value: Value; inner: Doc }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalars,
      tie('inner'),
      fc.array(tie('value'), { maxLength: 4 }),
    ),
    inner: fc
      .uniqueArray(fc.tuple(fc.constantFrom(...fieldNames), tie('value')), { selector: ([name]) => name, maxLength: 4 })
      .map((fields): Doc => new Map(fields)),
  }));
  return inner.map((fields): Doc => new Map<string, Value>([['_id', new Int32(1)], ...fields]));
}

/** A document that has much in common with another. Fields keep their order. */
function changed(before: Doc, by: Doc, keep: readonly boolean[]): Doc {
  const after: Doc = new Map(
    [...before].filter(([name], index) => name === '_id' || keep[index % keep.length] === true),
  );
  for (const [name, value] of by)
    if (after.has(name) || !before.has(name)) after.set(name, merged(after.get(name), value, keep));
  return after;
}

function merged(before: Value | undefined, value: Value, keep: readonly boolean[]): Value {
  if (before instanceof Map && value instanceof Map) return changed(before, value, keep);
  if (Array.isArray(before) && Array.isArray(value))
    return keep[0] === true ? [...before, ...value] : before.slice(0, value.length);
  return value;
}

/** The same fields in another order, as a pipeline may put them; `_id` stays in front. */
function reordered(document: Doc, by: readonly number[], depth = 0): Doc {
  const key = (index: number): number => by[(index + depth) % by.length] ?? 0;
  const moved = [...document]
    .map(([name, value], index) => ({ name, value, key: name === '_id' ? -1 : key(index) }))
    .sort((one, other) => one.key - other.key);
  const inner = (value: Value): Value => {
    if (value instanceof Map) return reordered(value, by, depth + 1);
    return Array.isArray(value) ? value.map(inner) : value;
  };
  return new Map(moved.map(({ name, value }) => [name, inner(value)]));
}

interface Step {
  before: Doc;
  after: Doc;
  operators?: Doc;
}

/** How a stream describes updates: by paths, or by the oplog's diff. */
interface Stream {
  version: string;
  showsDiffs: boolean;
}

const diffs: Stream = { version: '8.0', showsDiffs: true };
const style = ({ version, showsDiffs }: Stream): EventStyle =>
  ({
    version: ServerVersion.parse(version),
    expanded: !version.startsWith('5'),
    rawUpdateDescription: showsDiffs,
  }) as EventStyle;

const target = {
  db: 'shop',
  collection: 'orders',
  uuid: new UUID('0a'.repeat(16)),
  shardKey: undefined,
  preImages: false,
};

/** The update description in a server's stream; undefined when it reports a replacement. */
function descriptionOf({ before, after, operators }: Step, stream: Stream): Uint8Array | undefined {
  const operation: UpdateOperation = {
    kind: 'update',
    target,
    before: encodeDocument(before),
    after: encodeDocument(after),
    operators,
    replacement: false,
  };
  const description = describedUpdate(operation, style(stream));
  return description === undefined ? undefined : encodeDocument(description);
}

/**
 * Whether two fields have the same path text, such as the field `b.0` and `0` in `b`. What a server reports then is
 * unknown; the simulated one reports one of them.
 */
function namesTwoPlacesAlike(...all: readonly Doc[]): boolean {
  const places = new Map<string, string>();
  const isAlike = (value: Value, path: readonly string[]): boolean => {
    const fields = value instanceof Map ? [...value] : Array.isArray(value) ? [...value.entries()] : [];
    return fields.some(([name, inner]) => {
      const place = [...path, String(name)];
      const [text, exact] = [place.join('.'), JSON.stringify(place)];
      if (places.has(text) && places.get(text) !== exact) return true;
      places.set(text, exact);
      return isAlike(inner, place);
    });
  };
  return all.some((document) => isAlike(document, []));
}

/** The document after the update on a destination, as it is sent and as a pipeline alone. */
function replayed(before: Doc, delta: Delta): [string, string] {
  const { type, bytes } = deltaUpdate(delta);
  const sent = decodeDocument(bytes);
  const stages = [...decodeDocument(deltaPipeline(delta)).values()] as Doc[];
  const after = (update: Doc | Doc[]): string => hexOf(encodeDocument(applyUpdate(before, update).after));
  return [after(type === elementType.array ? ([...sent.values()] as Doc[]) : sent), after(stages)];
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function expectSame(step: Step, delta: Delta): void {
  const wanted = hexOf(encodeDocument(step.after));
  expect(replayed(step.before, delta)).toEqual([wanted, wanted]);
  if (needsAbsence(delta) && [...delta.append.keys()].every((name) => !step.before.has(name))) {
    const operators = decodeDocument(updateOfAbsent(delta));
    expect(hexOf(encodeDocument(applyUpdate(step.before, operators).after))).toBe(wanted);
  }
  expect(hexOf(changedDocument(encodeDocument(step.before), delta) ?? new Uint8Array())).toBe(wanted);
}

/** The document after an update by operators; undefined when the server refuses it. */
const operatorSteps = fc
  .tuple(
    documents(plainNames),
    fc.constantFrom('$set', '$unset', '$push', '$pop', '$inc'),
    fc.array(fc.constantFrom('a', 'b', 'c', 'd', '0', '1', '2'), { minLength: 1, maxLength: 3 }),
    fc.array(fc.constantFrom('a', 'b', 'd', '0'), { minLength: 1, maxLength: 2 }),
    scalars,
  )
  .map(([before, operator, path, other, value]): Step | undefined => {
    const argument =
      operator === '$inc' || operator === '$pop'
        ? new Int32(1)
        : operator === '$push'
          ? new Map<string, Value>([['$each', [value, value]]])
          : value;
    const operators: Doc = new Map([
      [
        operator,
        new Map([
          [path.join('.'), argument],
          [other.join('.'), argument],
        ]),
      ],
    ]);
    try {
      const { after, kind } = applyUpdate(before, operators);
      return kind === 'delta' ? { before, after, operators } : undefined;
    } catch {
      return undefined;
    }
  });

const pipelineSteps = (fieldNames: readonly string[]): fc.Arbitrary<Step> =>
  fc
    .tuple(documents(fieldNames), documents(fieldNames), fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }))
    .map(([before, by, keep]) => ({ before, after: changed(before, by, keep) }));

const orders = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5 });
const movingSteps = (fieldNames: readonly string[]): fc.Arbitrary<Step> =>
  fc
    .tuple(pipelineSteps(fieldNames), orders)
    .map(([{ before, after }, by]) => ({ before, after: reordered(after, by) }));

const streams: Stream[] = [{ version: '5.0', showsDiffs: false }, { version: '7.0', showsDiffs: false }, diffs];

describe.each(streams)('an update as the stream of $version describes it, as a diff: $showsDiffs', (stream) => {
  const isAlwaysExact = stream.version !== '5.0';

  /** How many were exact, of those that the stream reports as updates. */
  function replayAll(steps: fc.Arbitrary<Step | undefined>): { updates: number; exact: number } {
    const seen = { updates: 0, exact: 0 };
    fc.assert(
      fc.property(steps, (step) => {
        const description = step === undefined ? undefined : descriptionOf(step, stream);
        if (step === undefined || description === undefined) return;
        if (!stream.showsDiffs && namesTwoPlacesAlike(step.before, step.after)) return;
        const delta = deltaOf(description);
        seen.updates += 1;
        if (delta === null) return;
        seen.exact += 1;
        expectSame(step, delta);
      }),
      { numRuns: 600 },
    );
    return seen;
  }

  it('by operators is replayed to the same bytes', () => {
    const { updates, exact } = replayAll(operatorSteps);
    expect(exact).toBeGreaterThan(0);
    if (isAlwaysExact) expect(exact).toBe(updates);
  });

  it('by a pipeline is replayed to the same bytes, whatever the names', () => {
    const { updates, exact } = replayAll(pipelineSteps(names));
    expect(exact).toBeGreaterThan(0);
    if (isAlwaysExact) expect(exact).toBe(updates);
  });

  it.runIf(stream.showsDiffs)('that moves fields is replayed to the same bytes, whatever the names', () => {
    for (const steps of [movingSteps(plainNames), movingSteps(names)]) {
      const { updates, exact } = replayAll(steps);
      expect(exact).toBeGreaterThan(0);
      expect(exact).toBe(updates);
    }
  });
});

it.each([
  ['plain names', plainNames],
  ['any names', names],
])(
  'is replayed together with others by one pipeline, fields that move and come again included: %s',
  (_, fieldNames) => {
    let folded = 0;
    fc.assert(
      fc.property(
        documents(fieldNames),
        fc.array(fc.tuple(documents(fieldNames), fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }), orders), {
          minLength: 2,
          maxLength: 9,
        }),
        (first, changes) => {
          let before = first;
          let all: Delta | null = null;
          for (const [by, keep, order] of changes) {
            const after = reordered(changed(before, by, keep), order);
            const description = descriptionOf({ before, after }, diffs);
            // A replacement.
            if (description === undefined) return;
            const delta = deltaOf(description);
            expect(delta).not.toBeNull();
            all = all === null || delta === null ? delta : mergeDeltas(all, delta);
            expect(all).not.toBeNull();
            if (all === null) return;
            before = after;
            expectSame({ before: first, after: before }, all);
          }
          folded += 1;
        },
      ),
      { numRuns: 600 },
    );
    expect(folded).toBeGreaterThan(0);
  },
);

it('is replayed together with others by one pipeline, and on a whole document', () => {
  fc.assert(
    fc.property(
      documents(names),
      fc.array(fc.tuple(documents(names), fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })), {
        minLength: 2,
        maxLength: 9,
      }),
      (first, changes) => {
        let before = first;
        let all: Delta | null = null;
        for (const [by, keep] of changes) {
          const after = changed(before, by, keep);
          if (namesTwoPlacesAlike(before, after)) return;
          const description = descriptionOf({ before, after }, { version: '7.0', showsDiffs: false });
          const delta = description === undefined ? null : deltaOf(description);
          if (delta === null) return;
          all = all === null ? delta : mergeDeltas(all, delta);
          if (all === null) return;
          before = after;
        }
        if (all !== null) expectSame({ before: first, after: before }, all);
      },
    ),
    { numRuns: 600 },
  );
});
