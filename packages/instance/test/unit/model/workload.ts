import fc from 'fast-check';
import { BSONSymbol, Double, Int32, Long, Timestamp } from 'mongodb';
import { idClass } from '../../../src/bson/id.js';
import { encodeValue, RawValue } from '../../../src/bson/scan.js';
import { elementType } from '../../../src/bson/element-type.js';
import { documentKey, eventOf, modelNamespace, type NamedCollection, type SeenChange } from './change-events.js';
import { documentOf, fieldOf, type Fields, fieldsOf, withField, withoutField } from './raw-document.js';
import { idOf, keyOf, type SourceHistory, type SourceShard } from './source-history.js';

/** `_id`s, some of which the index takes for equal although their bytes differ. */
export const modelIds = [
  new Int32(1),
  new Double(1),
  new Long(1),
  new Int32(2),
  new Double(2.5),
  new Int32(7),
  new Long(7),
  'a',
  new BSONSymbol('a'),
  'b',
  new Map([['x', new Int32(1)]]),
  new Map([['x', new Double(1)]]),
  null,
  true,
].map(encodeValue);

const values = [new Int32(0), new Int32(1), new Int32(2), 'text', null, new Timestamp({ t: 0, i: 0 })].map(encodeValue);

export interface Change {
  /**
   * `twin`: another document of the same `_id` on the other shard, where the destination too has another shard for it.
   * `orphan`: a change of what a moved chunk has left on a shard that does not own it; the stream shows it.
   */
  kind: 'set' | 'unset' | 'setAndUnset' | 'nested' | 'truncate' | 'replace' | 'delete' | 'move' | 'twin' | 'orphan';
  id: number;
  fields: readonly (readonly [field: number, value: number])[];
  sk: number;
  /** Name of the collection; the model's first one when left out. One that is not there is made by an insert. */
  collection?: string;
}

/** Changes made together; alone, in one transaction, or in one that was prepared and seen before its events' time. */
export interface Step {
  changes: readonly Change[];
  transaction: 'none' | 'plain' | 'prepared';
}

const ordinaryKinds = [
  'set',
  'set',
  'set',
  'unset',
  'unset',
  'setAndUnset',
  'nested',
  'truncate',
  'replace',
  'delete',
  'delete',
  'move',
] as const;

const changeOf = (kind: fc.Arbitrary<Change['kind']>): fc.Arbitrary<Change> =>
  fc.record({
    kind,
    // Few documents that are changed often meet more than many that are not.
    id: fc.oneof(
      { weight: 3, arbitrary: fc.nat({ max: 4 }) },
      { weight: 1, arbitrary: fc.nat({ max: modelIds.length - 1 }) },
    ),
    fields: fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: values.length - 1 })), { minLength: 1, maxLength: 3 }),
    sk: fc.integer({ min: -3, max: 3 }),
  });

const stepsOf = (change: fc.Arbitrary<Change>): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ changes: fc.tuple(change), transaction: fc.constant('none' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        changes: fc.array(change, { minLength: 1, maxLength: 4 }),
        transaction: fc.constantFrom('plain' as const, 'prepared' as const),
      }),
    },
  );

/** Steps whose changes are in collections of these names. */
export function stepsOn(names: fc.Arbitrary<string>): fc.Arbitrary<Step> {
  const change = fc.tuple(changeOf(fc.constantFrom(...ordinaryKinds)), names);
  return stepsOf(change.map(([one, collection]) => ({ ...one, collection })));
}

export const steps = stepsOf(changeOf(fc.constantFrom(...ordinaryKinds)));

/** Steps that need several shards. */
export const stepsOfCluster = stepsOf(
  changeOf(fc.constantFrom(...ordinaryKinds, 'move', 'move', 'twin', 'twin', 'orphan', 'orphan')),
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
  const collection = namedCollection(source, change.collection ?? modelNamespace.name, visible);
  const id = modelIds[change.id] ?? encodeValue(0);
  const name = idClass(id, false);
  const twins = source.find(name, collection.uuid);
  const before = twins.find((document) => keyOf(document) < 0 === change.sk < 0) ?? twins[0];
  const fields = change.fields.map(([field, value]): [string, RawValue] => [
    `f${field}`,
    values[value] ?? encodeValue(0),
  ]);
  const write = (shard: SourceShard, document: Buffer | null, seen: Omit<SeenChange, 'inTransaction'>): void => {
    shard.write(document, name, visible, collection.uuid);
    shard.oplog.push({ time, event: eventOf({ ...seen, inTransaction }, time, collection) });
  };
  if (change.kind === 'orphan') {
    orphanChange(source, collection, id, before, change, fields, time, inTransaction);
    return;
  }
  if (before === undefined) {
    const document = documentOf([['_id', id], ['sk', encodeValue(new Int32(change.sk))], ...distinct(fields)]);
    write(source.shardOf(change.sk), document, { operation: 'insert', key: documentKey(fieldsOf(document)), document });
    return;
  }
  const present = fieldsOf(before);
  const shard = source.shardOf(keyOf(before));
  const key = documentKey(present);
  if (change.kind === 'twin' && twins.length === 1) {
    const sk = twinKey(keyOf(before));
    const document = documentOf([['_id', id], ['sk', encodeValue(new Int32(sk))], ...distinct(fields)]);
    write(source.shardOf(sk), document, { operation: 'insert', key: documentKey(fieldsOf(document)), document });
  } else if (change.kind === 'delete') {
    write(shard, null, { operation: 'delete', key });
  } else if (change.kind === 'replace') {
    const kept = present.filter(([field]) => field === '_id' || field === 'sk');
    const document = documentOf([...kept, ...distinct(fields)]);
    write(shard, document, { operation: 'replace', key, document });
  } else if (change.kind === 'move' && twins.length === 1 && source.shardOf(change.sk) !== shard) {
    const document = documentOf(withField(present, 'sk', encodeValue(new Int32(change.sk))));
    write(shard, null, { operation: 'delete', key });
    write(source.shardOf(change.sk), document, { operation: 'insert', key: documentKey(fieldsOf(document)), document });
  } else {
    // A twin keeps its place: the cluster could not hold both otherwise.
    const { after, updated, removed, truncated } = updateOf(
      twins.length > 1 && change.kind === 'move' ? { ...change, kind: 'set' } : change,
      present,
      fields,
    );
    const document = documentOf(after);
    if (!document.equals(before)) write(shard, document, { operation: 'update', key, updated, removed, truncated });
  }
}

/** The collection of a name, which the first write makes. */
function namedCollection(source: SourceHistory, name: string, time: bigint): NamedCollection {
  const { catalog } = source;
  const uuid = catalog.at(name) ?? catalog.newUuid();
  if (catalog.nameOf(uuid) === null) {
    catalog.set(uuid, name, time);
    if (catalog.showsCreations) catalog.shown.push({ operation: 'create', uuid, name, to: null, time });
  }
  return { uuid, name };
}

/** On the other source shard, and on the other shard of the destination. */
function twinKey(sk: number): number {
  const other = sk % 2 === 0 ? 1 : 2;
  return sk < 0 ? other : -other;
}

/** The event of a shard that does not own the document, under a live document's key or any other. */
function orphanChange(
  source: SourceHistory,
  collection: NamedCollection,
  id: RawValue,
  live: Buffer | undefined,
  change: Change,
  fields: Fields,
  time: bigint,
  inTransaction: boolean,
): void {
  const sk = live !== undefined && change.fields.length < 3 ? keyOf(live) : change.sk;
  const orphan: Fields = [
    ['_id', live === undefined ? id : idOf(live)],
    ['sk', encodeValue(new Int32(sk))],
    ...distinct(fields),
  ];
  const shard = source.shardOf(sk) === source.shards[0] ? source.shards.at(-1) : source.shards[0];
  const operation = change.fields.length === 1 ? 'delete' : change.fields[0]?.[0] === 0 ? 'replace' : 'update';
  const about =
    operation === 'update'
      ? { updated: distinct(fields), removed: [], truncated: false }
      : operation === 'replace'
        ? { document: documentOf(orphan) }
        : {};
  shard?.oplog.push({
    time,
    event: eventOf({ operation, key: documentKey(orphan), ...about, inTransaction }, time, collection),
  });
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
  if (change.kind === 'truncate') return truncate(present);
  const wanted = distinct(fields);
  const removed = change.kind === 'set' ? [] : wanted.slice(0, change.kind === 'unset' ? 3 : 1).map(([name]) => name);
  const updated = wanted.filter(([name]) => !removed.includes(name));
  let after = present;
  for (const name of removed) after = withoutField(after, name);
  for (const [name, value] of updated) after = withField(after, name, value);
  return { after, updated, removed: removed.filter((name) => fieldOf(present, name) !== undefined), truncated: false };
}

/** Cuts a list down to one element; makes it first where there is none. */
function truncate(present: Fields): Update {
  const list = fieldOf(present, 'list');
  const elements = list?.type === elementType.array ? fieldsOf(list.bytes) : [];
  const isCut = elements.length > 1;
  const kept: Fields = isCut
    ? elements.slice(0, 1)
    : [
        ['0', encodeValue(1)],
        ['1', encodeValue(2)],
      ];
  const after = new RawValue(elementType.array, documentOf(kept));
  return {
    after: withField(present, 'list', after),
    updated: isCut ? [] : [['list', after]],
    removed: [],
    truncated: isCut,
  };
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
