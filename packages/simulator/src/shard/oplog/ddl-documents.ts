import type { Doc, Value } from '../../bson/value.js';
import type { DdlOperation } from './entry.js';
import { fields } from './oplog-fields.js';

/** A DDL change as in the oplog: a command, or a no-op for one that is done elsewhere. */
export function definitionFields(operation: DdlOperation): Doc {
  const described = definedFields(operation);
  if (operation.fromMigrate === true) described.set('fromMigrate', true);
  return described;
}

function definedFields({ event, target, description, stateBeforeChange }: DdlOperation): Doc {
  const { db, collection, uuid } = target;
  const command = (name: string, rest: Iterable<[string, Value]>): Doc =>
    fields('c', `${db}.$cmd`, new Map<string, Value>([[name, collection], ...rest]), uuid);
  switch (event) {
    case 'create':
      return command('create', description);
    case 'createIndexes': {
      const specs = indexesOf(description);
      const [only] = specs;
      return only !== undefined && specs.length === 1
        ? command('createIndexes', only)
        : command('commitIndexBuild', description);
    }
    case 'dropIndexes': {
      const spec = indexesOf(description)[0] ?? new Map<string, Value>();
      return command('dropIndexes', [['index', spec.get('name') ?? '']]).set('o2', spec);
    }
    case 'modify':
      return command('collMod', description).set('o2', oldOptions(stateBeforeChange));
    default:
      return notice(event, `${db}.${collection}`, uuid, description);
  }
}

function indexesOf(description: Doc): Doc[] {
  const indexes = description.get('indexes');
  return Array.isArray(indexes) ? indexes.filter((spec) => spec instanceof Map) : [];
}

function oldOptions(before: Doc | undefined): Doc {
  const old: Doc = new Map();
  for (const [name, value] of before ?? []) old.set(`${name}_old`, value);
  return old;
}

/** A change of the whole collection and not of this shard alone: a no-op whose `o2` describes it. */
function notice(event: string, namespace: string, uuid: Value, description: Doc): Doc {
  const named = new Map<string, Value>([[event, namespace]]);
  return fields('n', namespace, new Map([['msg', named]]), uuid).set('o2', new Map([...named, ...description]));
}
