import { Int32 } from 'bson';
import { parseCollation, type Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { decodeFields } from '../../bson/scan.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import type { IndexDefinition } from '../storage/collection-index.js';
import type { IndexField } from '../storage/index-keys.js';

/** Kinds of index that have a description but hold no keys here. */
const DESCRIBED_ONLY: ReadonlySet<string> = new Set(['text', '2d', '2dsphere', '2dsphere_bucket', 'geoHaystack']);

/** The description of the `_id` index of a collection that is not clustered. */
export function idIndexSpec(): Doc {
  return new Map<string, Value>([
    ['v', new Int32(2)],
    ['key', new Map([['_id', new Int32(1)]])],
    ['name', '_id_'],
  ]);
}

/** The index of every collection. @param described as lists show it, without collation */
export function idIndexDefinition(
  described: Doc,
  collationSpec: Doc | undefined,
  collation: Collation | undefined,
): IndexDefinition {
  const spec: Doc = new Map(described);
  if (collationSpec !== undefined) spec.set('collation', collationSpec);
  const name = spec.get('name');
  return {
    name: typeof name === 'string' ? name : '_id_',
    spec,
    fields: [{ path: '_id', descending: false, hashed: false }],
    unique: true,
    prepareUnique: false,
    sparse: false,
    collation,
    holds: undefined,
    built: true,
  };
}

/** Parses a complete index description, as `listIndexes` shows it. @param version of the server that has the index */
export function indexDefinition(spec: Doc, version: ServerVersion): IndexDefinition {
  const key = spec.get('key');
  const fields = key instanceof Map ? indexFields(key) : [];
  const collation = spec.get('collation');
  const partial = spec.get('partialFilterExpression');
  const name = spec.get('name');
  return {
    name: typeof name === 'string' ? name : '',
    spec,
    fields,
    unique: isTrue(spec.get('unique')),
    prepareUnique: isTrue(spec.get('prepareUnique')),
    sparse: isTrue(spec.get('sparse')),
    collation: collation instanceof Map ? parseCollation(collation) : undefined,
    holds: partial instanceof Map ? holdsMatching(partial, version) : undefined,
    built: key instanceof Map && isBuilt(key),
  };
}

function indexFields(key: Doc): IndexField[] {
  return [...key].map(([path, order]) => ({
    path,
    descending: (numberOf(order) ?? 1) < 0,
    hashed: order === 'hashed',
  }));
}

function isBuilt(key: Doc): boolean {
  return [...key].every(
    ([path, order]) => !path.includes('$**') && !(typeof order === 'string' && DESCRIBED_ONLY.has(order)),
  );
}

function holdsMatching(filter: Doc, version: ServerVersion): (bytes: Uint8Array) => boolean {
  const matches = compileMatcher(filter, undefined, { version });
  const names = namedFields(filter);
  return names === undefined
    ? (bytes) => matches(decodeDocument(bytes))
    : (bytes) => matches(decodeFields(bytes, names));
}

/** The top-level fields that a filter reads. Undefined when it may read any. */
function namedFields(filter: Doc): string[] | undefined {
  const names = new Set<string>();
  for (const [name, operand] of filter) {
    if (!name.startsWith('$')) {
      names.add(name.split('.', 1)[0] ?? name);
      continue;
    }
    const parts =
      LOGICAL.has(name) && Array.isArray(operand)
        ? operand.map((part) => (part instanceof Map ? namedFields(part) : undefined))
        : [undefined];
    for (const part of parts) {
      if (part === undefined) return undefined;
      for (const inner of part) names.add(inner);
    }
  }
  return [...names];
}

/** Operators whose operands are filters of the same document. */
const LOGICAL: ReadonlySet<string> = new Set(['$and', '$or', '$nor']);
