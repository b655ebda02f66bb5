import { Binary, Int32, ObjectId, Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { encodeDocument } from '../../../../src/bson/encode.js';
import type { Doc, Value } from '../../../../src/bson/value.js';
import { ChunkMap } from '../../../../src/config/chunk-map.js';
import { ShardKeyPattern } from '../../../../src/config/shard-key.js';
import type { ShardedCollection } from '../../../../src/config/sharded-collection.js';
import { doc } from '../../../../src/node/doc-fields.js';
import { splitPipeline } from '../../../../src/router/read/pipeline-split.js';
import { mayChangeShardKey } from '../../../../src/router/write/shard-key-change.js';

const collection: ShardedCollection = {
  namespace: 'd.c',
  uuid: new Binary(Buffer.alloc(16), 4),
  key: ShardKeyPattern.parse(doc(['a.b', new Int32(1)])),
  unique: false,
  defaultCollation: undefined,
  epoch: new ObjectId(),
  timestamp: new Timestamp({ t: 1, i: 1 }),
  changedMs: 0,
  noBalance: false,
  chunks: new ChunkMap([]),
};

const one = new Int32(1);
const filter = doc(['a.b', one], ['_id', one]);
const same = doc(['_id', one], ['a', doc(['b', one])]);
const other = doc(['_id', one], ['a', doc(['b', new Int32(2)])]);

function mayChange(update: Value): boolean {
  return mayChangeShardKey(collection, encodeDocument(doc(['q', filter], ['u', update])));
}

const literal = (document: Doc): Value => [doc(['$replaceWith', doc(['$literal', document])])];

describe('an update that may change the shard key', () => {
  it.each<[string, Value, boolean]>([
    ['$set of another field', doc(['$set', doc(['z', one])]), false],
    ['$set of the key', doc(['$set', doc(['a.b', one])]), true],
    ['$set of a field above the key', doc(['$set', doc(['a', doc()])]), true],
    ['$unset of a field of the same beginning', doc(['$unset', doc(['a.bc', one])]), false],
    ['$rename', doc(['$rename', doc(['x', 'y'])]), true],
    ['a replacement with the same key', same, false],
    ['a replacement with another key', other, true],
    ['a literal replacement with the same key', literal(same), false],
    ['a literal replacement with another key', literal(other), true],
    ['any other pipeline', [doc(['$set', doc(['z', one])])], true],
  ])('%s', (_name, update, expected) => {
    expect(mayChange(update)).toBe(expected);
  });
});

describe('splitPipeline', () => {
  const stage = (name: string): Doc => doc([name, doc()]);

  it('leaves to the router what needs all documents', () => {
    const { onShards, onRouter } = splitPipeline(['$match', '$project', '$group', '$match'].map(stage));
    expect([onShards.length, onRouter.length]).toEqual([2, 2]);
  });

  it('sorts and limits on the shards already', () => {
    const { onShards, onRouter } = splitPipeline(['$sort', '$limit', '$project'].map(stage));
    expect([onShards.length, onRouter.length]).toEqual([2, 3]);
  });
});
