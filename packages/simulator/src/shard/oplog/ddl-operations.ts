import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { Collection } from '../storage/collection.js';
import type { DdlOperation } from './entry.js';

/** `create`: described by the collection's options and its `_id` index. */
export function createOperation(collection: Collection, fromMigrate = false): DdlOperation {
  const description: Doc = new Map(collection.options);
  if (collection.options.get('clusteredIndex') === undefined)
    description.set('idIndex', collection.idIndex.definition.spec);
  return { kind: 'definition', event: 'create', target: collection.target, description, fromMigrate };
}

/** `createIndexes`: one entry per index in an empty collection, one for all in a build over documents. */
export function createIndexesOperation(
  collection: Collection,
  specs: readonly Doc[],
  fromMigrate = false,
): DdlOperation {
  return {
    kind: 'definition',
    event: 'createIndexes',
    target: collection.target,
    description: indexes(specs),
    fromMigrate,
  };
}

export function dropIndexesOperation(collection: Collection, spec: Doc): DdlOperation {
  return { kind: 'definition', event: 'dropIndexes', target: collection.target, description: indexes([spec]) };
}

/** What `collMod` may change of a collection. */
const modifiable = [
  'index',
  'validator',
  'validationLevel',
  'validationAction',
  'recordPreImages',
  'changeStreamPreAndPostImages',
  'cappedSize',
  'cappedMax',
  'expireAfterSeconds',
  'timeseries',
];
const oldSuffix = '_old';

/**
 * `collMod`.
 * @param body the command
 * @param optionsBefore the collection's options until then
 * @param reply the command's reply, which names the changed index's options until then
 */
export function modifyOperation(collection: Collection, body: Doc, optionsBefore: Doc, reply: Doc): DdlOperation {
  const description: Doc = new Map();
  for (const name of modifiable) {
    const value = body.get(name);
    if (value !== undefined)
      description.set(name, name === 'index' && value instanceof Map ? byName(collection, value) : value);
  }
  const stateBeforeChange: Doc = new Map<string, Value>([
    ['collectionOptions', new Map<string, Value>([['uuid', collection.uuid], ...optionsBefore])],
  ]);
  if (body.has('index')) stateBeforeChange.set('indexOptions', indexBefore(reply));
  return { kind: 'definition', event: 'modify', target: collection.target, description, stateBeforeChange };
}

/** An index change as in the oplog: the index by its name, even if the command gave its key. */
function byName(collection: Collection, change: Doc): Doc {
  const pattern = change.get('keyPattern');
  if (!(pattern instanceof Map)) return change;
  const key = encodeDocument(pattern);
  const found = collection.indexes.find(({ definition }) =>
    encodeDocument(definition.spec.get('key') as Doc).equals(key),
  );
  const rest = [...change].filter(([name]) => name !== 'keyPattern' && name !== 'name');
  return new Map<string, Value>([['name', found?.definition.name ?? ''], ...rest]);
}

function indexBefore(reply: Doc): Doc {
  const before: Doc = new Map();
  for (const [name, value] of reply) if (name.endsWith(oldSuffix)) before.set(name.slice(0, -oldSuffix.length), value);
  return before;
}

function indexes(specs: readonly Doc[]): Doc {
  return new Map([['indexes', [...specs]]]);
}
