import fc from 'fast-check';
import { BSONSymbol, Double, Int32, Long, Timestamp } from 'mongodb';
import { idClass } from '../../../src/bson/id-class.js';
import { encodeValue, RawValue } from '../../../src/bson/scan.js';
import { elementType } from '../../../src/bson/element-type.js';
import { documentKey, eventOf, type SeenChange } from './change-events.js';
import { documentOf, fieldOf, type Fields, fieldsOf, withField, withoutField } from './raw-document.js';
import { keyOf, type SourceHistory, type SourceShard } from './source-history.js';

/** `_id`s, some of which the index takes for equal although their bytes differ. */
const ids = [
  new Int32(1), new Double(1), new Long(1), new Int32(2), new Double(2.5), new Int32(7), new Long(7),
  'a', new BSONSymbol('a'), 'b', new Map([['x', new Int32(1)]]), new Map([['x', new Double(1)]]), null, true,
].map(encodeValue);

const values = [new Int32(0), new Int32(1), new Int32(2), 'text', null, new Timestamp({ t: 0, i: 0 })].map(encodeValue);

export interface Change {
  kind: 'set' | 'unset' | 'setAndUnset' | 'nested' | 'truncate' | 'replace' | 'delete' | 'move';
  id: number;
  fields: readonly (readonly [field: number, value: number])[];
  sk: number;
}

/** Changes made together; alone, in one transaction, or in one that was prepared and seen before its events' time. */
export interface Step {
  changes: readonly Change[];
  transaction: 'none' | 'plain' | 'prepared';
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'unset', 'unset', 'setAndUnset', 'nested', 'truncate', 'replace', 'delete', 'delete', 'move'),
  // Few documents that are changed often meet more than many that are not.
  id: fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 4 }) }, { weight: 1, arbitrary: fc.nat({ max: ids.length - 1 }) }),
  fields: fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: values.length - 1 })), { minLength: 1, maxLength: 3 }),
  sk: fc.integer({ min: -3, max: 3 }),
});

export const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ changes: fc.tuple(change), transaction: fc.constant('none' as const) }) },
  { weight: 1, arbitrary: fc.record({ changes: fc.array(change, { minLength: 1, maxLength: 4 }), transaction: fc.constantFrom('plain' as const, 'prepared' as const) }) },
);

/** Carries out a step on the source: documents, versions and oplog. */
export function carryOut(source: SourceHistory, step: Step): void {
  const visible = source.tick();
  const commit = step.transaction === 'prepared' ? source.tick() : visible;
  for (const [index, one] of step.changes.entries()) {
    const alone = step.transaction === 'none';
    const time = alone && index > 0 ? source.tick() : commit;
    perform(source, one, alone ? time : visible, time, step.transaction !== 'none');
  }
}

function perform(source: SourceHistory, change: Change, visible: bigint, time: bigint, inTransaction: boolean): void {
  const id = ids[change.id] ?? encodeValue(0);
  const name = idClass(id, false);
  const before = source.find(name);
  const fields = change.fields.map(([field, value]): [string, RawValue] => [`f${field}`, values[value] ?? encodeValue(0)]);
  const write = (shard: SourceShard, document: Buffer | null, seen: Omit<SeenChange, 'inTransaction'>): void => {
    shard.write(document, name, visible);
    shard.oplog.push({ time, event: eventOf({ ...seen, inTransaction }, time) });
  };
  if (before === undefined) {
    const document = documentOf([['_id', id], ['sk', encodeValue(new Int32(change.sk))], ...distinct(fields)]);
    write(source.shardOf(change.sk), document, { operation: 'insert', key: documentKey(fieldsOf(document)), document });
    return;
  }
  const present = fieldsOf(before);
  const shard = source.shardOf(keyOf(before));
  const key = documentKey(present);
  if (change.kind === 'delete') {
    write(shard, null, { operation: 'delete', key });
  } else if (change.kind === 'replace') {
    const kept = present.filter(([field]) => field === '_id' || field === 'sk');
    const document = documentOf([...kept, ...distinct(fields)]);
    write(shard, document, { operation: 'replace', key, document });
  } else if (change.kind === 'move' && source.shardOf(change.sk) !== shard) {
    const document = documentOf(withField(present, 'sk', encodeValue(new Int32(change.sk))));
    write(shard, null, { operation: 'delete', key });
    write(source.shardOf(change.sk), document, { operation: 'insert', key: documentKey(fieldsOf(document)), document });
  } else {
    const { after, updated, removed, truncated } = updateOf(change, present, fields);
    const document = documentOf(after);
    if (!document.equals(before)) write(shard, document, { operation: 'update', key, updated, removed, truncated });
  }
}

interface Update {
  after: Fields;
  updated: Fields;
  removed: string[];
  truncated: boolean;
}

/** The document after an update, and its description as the server's stream has it. */
function updateOf(change: Change, present: Fields, fields: Fields): Update {
  if (change.kind === 'move') {
    const sk = encodeValue(new Int32(change.sk));
    return { after: withField(present, 'sk', sk), updated: [['sk', sk]], removed: [], truncated: false };
  }
  if (change.kind === 'nested') return nested(present, fields[0]?.[1] ?? encodeValue(0));
  if (change.kind === 'truncate') {
    const list = new RawValue(elementType.array, documentOf([['0', encodeValue(1)]]));
    return { after: withField(present, 'list', list), updated: [], removed: [], truncated: true };
  }
  const wanted = distinct(fields);
  const removed = change.kind === 'set' ? [] : wanted.slice(0, change.kind === 'unset' ? 3 : 1).map(([name]) => name);
  const updated = wanted.filter(([name]) => !removed.includes(name));
  let after = present;
  for (const name of removed) after = withoutField(after, name);
  for (const [name, value] of updated) after = withField(after, name, value);
  return { after, updated, removed: removed.filter((name) => fieldOf(present, name) !== undefined), truncated: false };
}

function nested(present: Fields, value: RawValue): Update {
  const inner = fieldOf(present, 'n');
  const before = inner?.type === elementType.document ? fieldsOf(inner.bytes) : [];
  const after = new RawValue(elementType.document, documentOf(withField(before, 'x', value)));
  const updated: Fields = inner?.type === elementType.document ? [['n.x', value]] : [['n', after]];
  return { after: withField(present, 'n', after), updated, removed: [], truncated: false };
}

function distinct(fields: Fields): Fields {
  return [...new Map(fields)];
}
