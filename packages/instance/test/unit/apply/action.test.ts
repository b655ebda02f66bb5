import { BSON, Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import {
  type Action,
  actionOf,
  type RereadAction,
  foldActions,
  removalOf,
  type ReplayBounds,
} from '../../../src/apply/action.js';
import { bytesOf, changeOf, collectionOf, insertOf, updateOf, zeroTimestamp } from '../model/parts.js';

const sharded = collectionOf();
const unsharded = collectionOf({ sourceKey: [], destinationKey: [] });
const newlySharded = collectionOf({ sourceKey: [] });
const fresh: ReplayBounds = { watermark: 0n, readEnd: null };

function filterOf(action: Action | RereadAction): string[] {
  if (action.kind === 'reread') throw new Error(action.reason);
  return Object.keys(BSON.deserialize(action.filter));
}

function exact(action: Action | RereadAction): Action {
  if (action.kind === 'reread') throw new Error(action.reason);
  return action;
}

describe('the action of an event', () => {
  it.each([
    ['insert', insertOf(1, 5n), sharded, ['sk', '_id']],
    ['update', updateOf(1, 5n, { a: 1 }), sharded, ['sk', '_id']],
    ['delete', changeOf(1, 5n, { operation: 'delete' }), sharded, ['sk', '_id']],
    ['delete', changeOf(1, 5n, { operation: 'delete' }), unsharded, ['_id']],
    [
      'delete of a collection that is sharded only on the destination',
      changeOf(1, 5n, { operation: 'delete', documentKey: bytesOf({ _id: 1 }) }),
      newlySharded,
      ['_id'],
    ],
    ['insert into a collection that is sharded only on the destination', insertOf(1, 5n), newlySharded, ['sk', '_id']],
  ])('%s carries the full key', (_what, event, collection, fields) => {
    expect(filterOf(actionOf(event, collection, fresh))).toEqual(fields);
  });

  it('has `_id` alone where it contains the shard key', () => {
    const key = [{ field: '_id.x', hashed: false }];
    const inside = collectionOf({ sourceKey: key, destinationKey: key });
    const documentKey = bytesOf({ '_id.x': 1, _id: { x: 1 } });
    for (const event of [
      changeOf({ x: 1 }, 5n, { operation: 'delete', documentKey }),
      changeOf({ x: 1 }, 5n, { operation: 'replace', documentKey, fullDocument: bytesOf({ _id: { x: 1 }, a: 1 }) }),
      { ...updateOf({ x: 1 }, 5n, { a: 1 }), documentKey },
    ])
      expect(filterOf(actionOf(event, inside, fresh))).toEqual(['_id']);
  });

  it('is a re-read where the stream shows changes of orphans, except for inserts', () => {
    const moved = collectionOf({ readBy: 'name', showsOrphans: true });
    const changes = [
      updateOf(1, 5n, { a: 1 }),
      changeOf(1, 5n, { operation: 'delete' }),
      changeOf(1, 5n, { operation: 'replace', fullDocument: bytesOf({ _id: 1, sk: 1 }) }),
    ];
    for (const event of changes) {
      expect(actionOf(event, moved, fresh)).toEqual({ kind: 'reread', reason: 'orphanEvent' });
      expect(actionOf(event, { ...moved, showsOrphans: false }, fresh).kind).not.toBe('reread');
    }
    expect(actionOf(insertOf(1, 6n), moved, fresh).kind).toBe('insert');
  });

  it('is a re-read where a query chooses the documents, except for deletes', () => {
    const filtered = collectionOf({ documentFilter: { region: 'EU' } });
    const changes = [
      insertOf(1, 6n),
      updateOf(1, 5n, { a: 1 }),
      changeOf(1, 5n, { operation: 'replace', fullDocument: bytesOf({ _id: 1, sk: 1 }) }),
    ];
    for (const event of changes)
      expect(actionOf(event, filtered, fresh)).toEqual({ kind: 'reread', reason: 'documentFilter' });
    expect(actionOf(changeOf(1, 5n, { operation: 'delete' }), filtered, fresh).kind).toBe('delete');
  });

  it('inserts new documents, and upserts those that may have been applied before a restart', () => {
    expect(actionOf(insertOf(1, 6n), sharded, { watermark: 5n, readEnd: null }).kind).toBe('insert');
    expect(actionOf(insertOf(1, 5n), sharded, { watermark: 5n, readEnd: null }).kind).toBe('upsert');
  });

  it('upserts a document with Timestamp(0,0), which an insert would change', () => {
    expect(actionOf(insertOf(1, 6n, { at: zeroTimestamp }), sharded, fresh).kind).toBe('upsert');
    expect(actionOf(insertOf(1, 6n, { at: new Timestamp({ t: 1, i: 0 }) }), sharded, fresh).kind).toBe('insert');
  });

  it.each([
    ['replayedDelta', updateOf(1, 5n, { a: 1 }), { watermark: 5n, readEnd: null }],
    ['preparedTransaction', updateOf(1, 5n, { a: 1 }, { inTransaction: true }), { watermark: 0n, readEnd: 5n }],
    ['inexactDelta', updateOf(1, 5n, { 'a.b': 1 }), fresh],
    ['inexactDelta', changeOf(1, 5n, { operation: 'update' }), fresh],
    ['shardKeyChange', updateOf(1, 5n, { sk: 2 }), fresh],
    ['shardKeyChange', changeOf(1, 5n, { operation: 'replace', fullDocument: bytesOf({ _id: 1, sk: 2 }) }), fresh],
    ['inexactDelta', changeOf(1, 5n, { operation: 'replace' }), fresh],
  ])('is a re-read: %s', (reason, event, bounds) => {
    expect(actionOf(event, sharded, bounds)).toEqual({ kind: 'reread', reason });
  });

  it('is a re-read for a changed bucket, and exact for a new one', () => {
    const series = { ...sharded, isSeries: true };
    expect(actionOf(updateOf(1, 5n, { a: 1 }), series, fresh)).toEqual({ kind: 'reread', reason: 'bucket' });
    expect(actionOf(insertOf(1, 5n), series, fresh).kind).toBe('insert');
    expect(actionOf(changeOf(1, 5n, { operation: 'delete' }), series, fresh).kind).toBe('delete');
  });

  it('is exact for deltas after the replay bounds', () => {
    expect(
      actionOf(updateOf(1, 6n, { a: 1 }, { inTransaction: true }), sharded, { watermark: 5n, readEnd: 5n }).kind,
    ).toBe('delta');
    expect(actionOf(updateOf(1, 5n, { a: 1 }), sharded, { watermark: 0n, readEnd: 5n }).kind).toBe('delta');
  });

  it('is a re-read for deltas during the read of a capped collection, which has no single read time', () => {
    expect(
      actionOf(updateOf(1, 5n, { a: 1 }), collectionOf({ capped: true }), { watermark: 0n, readEnd: 5n }).kind,
    ).toBe('reread');
  });

  it.each([
    ['only the destination is sharded', newlySharded],
    ['only the source is sharded', collectionOf({ destinationKey: [] })],
  ])('re-reads an update of the shard key where %s', (_what, collection) => {
    expect(actionOf(updateOf(1, 5n, { sk: 2 }), collection, fresh)).toEqual({
      kind: 'reread',
      reason: 'shardKeyChange',
    });
    expect(actionOf(updateOf(1, 5n, { a: 2 }), collection, fresh).kind).toBe('delta');
  });

  it('upserts a replacement where the destination alone is sharded, by _id', () => {
    const byId = collectionOf({ sourceKey: [], destinationKey: [{ field: '_id', hashed: true }] });
    const event = changeOf(1, 5n, {
      operation: 'replace',
      documentKey: bytesOf({ _id: 1 }),
      fullDocument: bytesOf({ _id: 1, sk: 2 }),
    });
    expect(actionOf(event, byId, fresh).kind).toBe('upsert');
    expect(filterOf(actionOf(event, byId, fresh))).toEqual(['_id']);
  });

  it('re-reads a replacement whose old shard key the source does not report', () => {
    const event = changeOf(1, 5n, {
      operation: 'replace',
      fullDocument: bytesOf({ _id: 1, sk: 1 }),
      documentKey: bytesOf({ _id: 1 }),
    });
    expect(actionOf(event, newlySharded, fresh)).toEqual({ kind: 'reread', reason: 'shardKeyChange' });
  });
});

describe('a later action folded into an earlier one', () => {
  const insert = exact(actionOf(insertOf(1, 1n), sharded, fresh));
  const upsert = exact(
    actionOf(changeOf(1, 2n, { operation: 'replace', fullDocument: bytesOf({ _id: 1, sk: 1, a: 2 }) }), sharded, fresh),
  );
  const zero = exact(
    actionOf(
      changeOf(1, 2n, { operation: 'replace', fullDocument: bytesOf({ _id: 1, sk: 1, at: zeroTimestamp }) }),
      sharded,
      fresh,
    ),
  );
  const remove = removalOf(changeOf(1, 3n), sharded);
  const delta = exact(actionOf(updateOf(1, 4n, { a: 1 }), sharded, fresh));

  it.each([
    ['insert', 'upsert', insert, upsert, 'insert'],
    ['insert', 'a document with Timestamp(0,0)', insert, zero, 'upsert'],
    ['delete', 'insert', remove, insert, 'upsert'],
    ['upsert', 'insert', upsert, insert, 'upsert'],
    ['insert', 'delete', insert, remove, 'delete'],
    ['delta', 'delete', delta, remove, 'delete'],
    ['delta', 'upsert', delta, upsert, 'upsert'],
    ['delta', 'delta', delta, delta, 'delta'],
  ])('%s, then %s', (_first, _second, earlier, later, kind) => {
    expect(foldActions(earlier, later)?.kind).toBe(kind);
  });

  it.each([
    ['insert', insert],
    ['upsert', upsert],
  ])('%s, then a delta become the changed document', (kind, earlier) => {
    const folded = foldActions(earlier, delta);
    if (folded?.kind !== 'insert' && folded?.kind !== 'upsert') throw new Error('no whole document');
    expect(folded.kind).toBe(kind);
    expect(BSON.deserialize(folded.document)).toMatchObject({ _id: 1, a: 1 });
  });

  it('insert, then a delta that sets Timestamp(0,0) become an upsert', () => {
    const stamped = exact(actionOf(updateOf(1, 4n, { at: zeroTimestamp }), sharded, fresh));
    expect(foldActions(insert, stamped)?.kind).toBe('upsert');
  });

  it('delete, then a delta: the delta waits for the next batch', () => {
    expect(foldActions(remove, delta)).toBeNull();
  });

  it('of another document of the id class waits for the next batch', () => {
    const other = exact(actionOf(insertOf(1, 5n, { sk: 2 }), sharded, fresh));
    expect(foldActions(remove, other)).toBeNull();
  });
});
