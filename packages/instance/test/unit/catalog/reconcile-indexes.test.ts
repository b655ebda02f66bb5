import { BSON, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { indexesMax } from '../../../src/catalog/index-spec.js';
import { planCollection } from '../../../src/catalog/destination-plan.js';
import type { CatalogEntry, InconsistentIndex } from '../../../src/catalog/namespace.js';
import { reconcileIndexes } from '../../../src/catalog/reconcile-indexes.js';
import { meaning } from '../../../src/ddl/destination-collections.js';
import { serverError } from '../model/calls.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';
import { never } from '../model/parts.js';
import { indexAsRead } from './as-read.js';
import type { IndexScope } from '../../../src/catalog/index-plan.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const id = { v: 2, key: { _id: 1 }, name: '_id_' };

function entryOf(indexes: Document[], shardKey?: string): CatalogEntry {
  return {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '0a'.repeat(16),
    options: {},
    indexes: [id, ...indexes].map(indexAsRead),
    sharding:
      shardKey === undefined ? null : { key: new Map([[shardKey, 1]]), unique: false, chunks: [], everMoved: false },
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
  };
}

const replaced = new Error('replaced');
const confirmed = (): Promise<void> => Promise.resolve();

/** Whether a key, which may have been sent as a map, starts with a field. */
function startsWith(key: unknown, field: string): boolean {
  return [...(key instanceof Map ? key.keys() : Object.keys(key as Document))][0] === field;
}

/** All commands that were sent. The destination refuses to drop the last index of a shard key, and one too many. */
async function sentFor(
  source: Document[],
  there: Document[],
  indexScope: IndexScope,
  version: [number, number, number],
  confirm = confirmed,
  shardKey?: string,
  inconsistentIndexes: InconsistentIndex[] = [],
  hasTtlByCollMod = true,
): Promise<Document[]> {
  let present: Document[] = [id, ...there];
  const client = new FakeNodeClient('router', {
    listIndexes: () => ({ cursor: { firstBatch: present } }),
    createIndexes: (_database, command) => {
      const added = (command.indexes as Document[]).filter(({ name }) => present.every((one) => one.name !== name));
      present = [...present, ...added];
      if (present.length > indexesMax) throw serverError(67);
      return {};
    },
    aggregate: () => ({ cursor: { firstBatch: present.map((spec) => ({ shard: 's0', spec })) } }),
    dropIndexes: (_database, command) => {
      const left = present.filter(({ name }) => name !== command.index);
      if (shardKey !== undefined && !left.some(({ key }) => startsWith(key, shardKey))) throw serverError(370);
      present = left;
      return {};
    },
    collMod: (_database, { index }) => {
      const { name, ...change } = index as Document;
      const changed = present.find((one) => one.name === name);
      if (!hasTtlByCollMod && changed?.expireAfterSeconds === undefined) throw serverError(72);
      present = present.map((one) => (one.name === name ? { ...one, ...change } : one));
      return {};
    },
  });
  const destination = fakeCluster({ router: client, version });
  const { plan } = planCollection(entryOf(source, shardKey), {
    source: { shardIds: ['s0'] },
    destination,
    indexScope,
    remap: noRemap,
  });
  await reconcileIndexes(
    { client, signal: never, confirm, meaning: meaning({ destination }, entryOf(there)) },
    version,
    plan,
    { ...entryOf(there, shardKey), inconsistentIndexes },
  ).catch((error: unknown) => {
    if (error !== replaced) throw error;
  });
  return client.sent.map(({ command }) => command);
}

function nameOf({ name, unique }: Document): string {
  return `${String(name)}${unique === true ? ' unique' : ''}`;
}

/** The commands that change something, in short. */
async function changesFor(
  source: Document[],
  there: Document[],
  indexScope: IndexScope = 'all',
  shardKey?: string,
  uneven?: InconsistentIndex[],
): Promise<string[]> {
  return (await sentFor(source, there, indexScope, [7, 0, 0], confirmed, shardKey, uneven)).flatMap((command) => {
    if ('createIndexes' in command) return [`build ${(command.indexes as Document[]).map(nameOf).join(', ')}`];
    if ('dropIndexes' in command) return [`drop ${String(command.index)}`];
    return 'collMod' in command ? [`change ${String((command.index as Document).name)}`] : [];
  });
}

const a = { v: 2, key: { a: 1 }, name: 'a_1' };
/** With `_id` and one more, as many as a collection can have. */
const many = Array.from({ length: 62 }, (_, n): Document => ({ v: 2, key: { [`f${n}`]: 1 }, name: `f${n}` }));

it.each<[string, Document[], Document[], string[]]>([
  ['nothing when they are alike', [a], [a], []],
  [
    'builds what is missing, and unique indexes as plain ones until the commit',
    [a, { ...a, key: { b: 1 }, name: 'b_1', unique: true }],
    [a],
    ['build b_1'],
  ],
  ['keeps a unique index that exists as a plain one', [{ ...a, unique: true }], [a], []],
  [
    'drops extra indexes after the missing ones are built',
    [{ ...a, key: { b: 1 }, name: 'b_1' }],
    [a],
    ['build b_1', 'drop a_1'],
  ],
  [
    'first drops what has the name or the form of a missing one',
    [{ ...a, key: { c: 1 } }],
    [a],
    ['drop a_1', 'build a_1'],
  ],
  ['first drops an index under another name', [{ ...a, name: 'other' }], [a], ['drop a_1', 'build other']],
  [
    'first drops extra ones where a collection cannot have one more',
    [...many, { ...a, key: { b: 1 }, name: 'b_1' }],
    [...many, a],
    ['drop a_1', 'build b_1'],
  ],
  ['a TTL index stays disabled', [{ ...a, expireAfterSeconds: 60 }], [{ ...a, expireAfterSeconds: 2_147_483_647 }], []],
  [
    'an index that has become a TTL index becomes one, disabled, without another build',
    [{ ...a, expireAfterSeconds: 60 }],
    [a],
    ['change a_1'],
  ],
  ['a hidden one stays visible', [{ ...a, hidden: true }], [a], []],
])('indexes: %s', async (_what, source, there, expected) => {
  expect(await changesFor(source, there)).toEqual(expected);
});

it.each<[string, Document[], Document[], string, string[]]>([
  [
    'has another one for its key while that is replaced',
    [{ ...a, name: 'other' }],
    [a],
    'a',
    ['build convoy_substitute', 'drop a_1', 'build other', 'drop convoy_substitute'],
  ],
  ['gets the index that a dropped one leaves it without', [], [{ ...a, name: 'other' }], 'a', substituted('a_1')],
  [
    'keeps what a former leader has left for it meanwhile',
    [{ ...a, name: 'other' }],
    [a, { v: 2, key: { a: 1, convoy_substitute: 1 }, name: 'convoy_substitute' }],
    'a',
    ['drop a_1', 'build other', 'drop convoy_substitute'],
  ],
  [
    'keeps it also where it can have no further index',
    [...many.slice(1), { ...a, name: 'other' }],
    [{ v: 2, key: { a: 1, convoy_substitute: 1 }, name: 'convoy_substitute' }, ...many.slice(1), a],
    'a',
    ['build convoy_substitute', 'drop a_1', 'build other', 'drop convoy_substitute'],
  ],
  [
    'loses another one for it where it can have no further index, and gets that again',
    [...many, { ...a, name: 'other' }],
    [...many, a],
    'a',
    ['drop f0', 'build convoy_substitute', 'drop a_1', 'build other', 'drop convoy_substitute', 'build f0'],
  ],
  [
    'gets one of two new ones for it, then the other in the room of the substitute',
    [...many.slice(1), { ...a, key: { a: 1, c: 1 } }, { v: 2, key: { a: 1, d: 1 }, name: 'meanwhile' }],
    [...many, { ...a, key: { a: 1, b: 1 } }],
    'a',
    ['drop f0', 'build convoy_substitute', 'drop a_1', 'build a_1', 'drop convoy_substitute', 'build meanwhile'],
  ],
  [
    'needs none beside a longer one',
    [
      { ...a, name: 'other' },
      { v: 2, key: { a: 1, b: 1 }, name: 'a_1_b_1' },
    ],
    [a, { v: 2, key: { a: 1, b: 1 }, name: 'a_1_b_1' }],
    'a',
    ['drop a_1', 'build other'],
  ],
  [
    'needs none beside that on `_id`',
    [{ v: 2, key: { _id: 1, b: 1 }, name: 'other' }],
    [{ v: 2, key: { _id: 1, b: 1 }, name: 'mine' }],
    '_id',
    ['drop mine', 'build other'],
  ],
])('a sharded collection %s', async (_what, source, there, shardKey, expected) => {
  expect(await changesFor(source, there, 'all', shardKey)).toEqual(expected);
});

it.each<[string, Document[], Document[], string[]]>([
  ['is built on the others', [a], [a], ['build a_1']],
  ['that is not wanted is dropped', [], [a], ['drop a_1']],
  ['of another form is dropped and built', [a], [{ ...a, key: { a: 1, b: 1 } }], ['drop a_1', 'build a_1']],
  ['of several forms is dropped and built', [a], [a, { ...a, sparse: true }], ['drop a_1', 'build a_1']],
])('an index of some shards %s', async (_what, source, forms, expected) => {
  expect(await changesFor(source, [], 'all', undefined, [inconsistent('a_1', forms)])).toEqual(expected);
});

it('an index of some shards that is not wanted goes first where a collection cannot have one more', async () => {
  const only = inconsistent('b_1', [{ ...a, key: { b: 1 }, name: 'b_1' }]);
  expect(await changesFor([...many, a], many, 'all', undefined, [only])).toEqual(['drop b_1', 'build a_1']);
  expect(await changesFor([...many.slice(1), a], many.slice(1), 'all', undefined, [only])).toEqual([
    'build a_1',
    'drop b_1',
  ]);
});

function inconsistent(index: string, forms: Document[]): InconsistentIndex {
  return {
    namespace: 'shop.orders',
    index,
    shards: ['s1'],
    forms: forms.map((form) => ({ index: indexAsRead(form), shards: 1 })),
  };
}

/** The changes that replace index `other` on the shard key by one of another name. */
function substituted(name: string): string[] {
  return ['build convoy_substitute', 'drop other', `build ${name}`, 'drop convoy_substitute'];
}

function changesAmong(sent: readonly Document[]): Document[] {
  return sent.filter((command) => !('listIndexes' in command));
}

it('confirms every change, and changes nothing once another leader has taken over', async () => {
  const left = { v: 2, key: { b: 1 }, name: 'b_1' };
  for (let allowed = 0; allowed <= 4; allowed += 1) {
    let asked = 0;
    const confirm = (): Promise<void> => (++asked > allowed ? Promise.reject(replaced) : Promise.resolve());
    const sent = await sentFor([{ ...a, expireAfterSeconds: 60 }], [a, left], 'all', [5, 0, 0], confirm);
    expect(changesAmong(sent).map((command) => Object.keys(command)[0])).toEqual(
      ['dropIndexes', 'createIndexes', 'collMod', 'dropIndexes'].slice(0, allowed),
    );
  }
});

it('a TTL index is built anew where the server makes none of a plain one', async () => {
  const ttl = { ...a, expireAfterSeconds: 60 };
  const kinds = async (version: [number, number, number], hasTtlByCollMod: boolean): Promise<unknown[]> =>
    changesAmong(await sentFor([ttl], [a], 'all', version, confirmed, undefined, [], hasTtlByCollMod)).map(
      (command) => Object.keys(command)[0],
    );
  const anew = ['dropIndexes', 'createIndexes', 'collMod'];
  expect(await kinds([5, 0, 0], true)).toEqual(anew);
  expect(await kinds([6, 0, 0], true)).toEqual(['collMod']);
  // The feature compatibility version is still 5.0.
  expect(await kinds([6, 0, 0], false)).toEqual(['collMod', ...anew]);
});

it('a TTL index that the commit has enabled since stays enabled', async () => {
  const live = { ...a, expireAfterSeconds: 60 };
  expect(changesAmong(await sentFor([live], [live], 'all', [7, 0, 0], () => Promise.reject(replaced)))).toEqual([]);
});

it('every change identifies its collection by UUID, if the server checks it', async () => {
  const meant = new BSON.UUID('0a'.repeat(16));
  for (const [version, expected] of [
    [
      [5, 0, 0],
      [undefined, undefined, undefined],
    ],
    [[6, 0, 0], [meant]],
  ] as const) {
    const changes = changesAmong(await sentFor([{ ...a, expireAfterSeconds: 60 }], [a], 'all', [...version]));
    expect(changes.map(({ collectionUUID }) => collectionUUID as unknown)).toEqual(expected);
  }
});

it('indexes are not built if none were requested', async () => {
  expect(await changesFor([a], [], 'shardKey')).toEqual([]);
});

it('an index that the destination refuses to drop for its shard key is a difference, and the others go', async () => {
  const there = [a, { ...a, key: { a: 1, tags: 1 }, name: 'with arrays' }, { ...a, key: { b: 1 }, name: 'b_1' }];
  const dropped: unknown[] = [];
  const client = new FakeNodeClient('router', {
    listIndexes: () => ({ cursor: { firstBatch: [id, ...there] } }),
    aggregate: () => ({ cursor: { firstBatch: [] } }),
    dropIndexes: (_database, command) => {
      if (command.index === 'a_1') throw serverError(370);
      dropped.push(command.index);
      return {};
    },
  });
  const destination = fakeCluster({ router: client, version: [8, 0, 10] });
  const rules = { source: { shardIds: ['s0'] }, destination, indexScope: 'all', remap: noRemap } as const;
  const { plan } = planCollection(entryOf(there.slice(1, 2), 'a'), rules);
  const ended = reconcileIndexes({ client, signal: never, confirm: confirmed }, [8, 0, 10], plan, entryOf(there, 'a'));
  await expect(ended).rejects.toMatchObject({ code: 370 });
  expect(dropped).toEqual(['b_1']);
});
