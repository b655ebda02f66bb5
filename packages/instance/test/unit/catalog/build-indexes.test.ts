import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import {
  buildMissing,
  changeIndex,
  dropIndex,
  isBuiltAs,
  sendCreateIndexes,
} from '../../../src/catalog/build-indexes.js';
import { BuildsUnderWay } from '../../../src/catalog/index-builds.js';
import { portableIndex } from '../../../src/catalog/index-spec.js';
import { compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { type CollectionPlan, planCollection } from '../../../src/catalog/destination-plan.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import type { SkippedIndex } from '../../../src/catalog/index-plan.js';
import { fakeCluster, FakeNodeClient, serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';
import { indexAsRead, keyPattern } from './as-read.js';
import { TwoShards } from './two-shards.js';

const id = { v: 2, key: { _id: 1 }, name: '_id_' };
const a = { v: 2, key: { a: 1 }, name: 'a_1' };
const u = { v: 2, key: { u: 1 }, name: 'u_1', unique: true };
const k = { v: 2, key: { k: 1, x: 1 }, name: 'k_1_x_1' };
const destination = fakeCluster({ router: new FakeNodeClient('router', {}), version: [7, 0, 0] });

function entryOf(indexes: Document[]): CatalogEntry {
  return {
    database: 'app',
    name: 'c',
    type: 'collection',
    uuid: '0c',
    options: {},
    indexes: [id, ...indexes].map(indexAsRead),
    sharding: { key: keyPattern({ k: 1 }), unique: false, chunks: [], everMoved: false },
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
  };
}

function planOf(skipped: readonly SkippedIndex[] = [], indexes: Document[] = [a, u, k]): CollectionPlan {
  const deps = { source: { shardIds: ['s0'] }, destination, indexScope: 'all', skipped, remap: noRemap } as const;
  return planCollection(entryOf(indexes), deps).plan;
}

/** Builds on a router that refuses some indexes, by name, although one shard has built them. */
async function built(
  refused: Record<string, number>,
  skips: boolean,
  mayPass?: () => boolean,
  indexes: Document[] = [a, u, k],
) {
  const present = new Map<string, Document>([[id.name, id]]);
  const client = new FakeNodeClient('router', {
    aggregate: () => ({
      cursor: { firstBatch: [...present.values()].map((spec) => ({ shard: 's0', spec })) },
    }),
    createIndexes: (_database, command) => {
      const indexes = command.indexes as Document[];
      for (const index of indexes) present.set(String(index.name), index);
      const code = indexes.map(({ name }) => refused[String(name)]).find((one) => one !== undefined);
      if (code !== undefined) throw serverError(code, 'Refused');
      return {};
    },
    dropIndexes: (_database, command) => {
      if (!present.delete(command.index as string)) throw serverError(27, 'IndexNotFound');
      return {};
    },
    collMod: (_database, command) => {
      switchedOff.push(String((command.index as Document).name));
      return {};
    },
  });
  const switchedOff: string[] = [];
  const skipped: SkippedIndex[] = [];
  const skip = (one: SkippedIndex): Promise<void> => Promise.resolve(void skipped.push(one));
  const plan = planOf([], indexes);
  const building = {
    client,
    signal: never,
    confirm: () => Promise.resolve(),
    ...(skips && { skip }),
    mayPass,
  };
  const wanted = plan.indexes.flatMap(({ temporary }) => (temporary === null ? [] : [temporary]));
  const error: unknown = await buildMissing(building, plan, wanted).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, skipped, switchedOff, present: [...present.keys()].sort() };
}

it('what cannot be built is skipped and stands on no shard, if the user has chosen so; others are built', async () => {
  const { error, skipped, present } = await built({ a_1: 16_755, u_1: 67 }, true);
  expect(error).toBeNull();
  expect(present).toEqual(['_id_', 'k_1_x_1']);
  expect(skipped).toMatchObject([
    { uuid: '0c', namespace: 'app.c', index: 'a_1', outcome: 'absent', unique: false, failure: 'Refused (16755)' },
    { uuid: '0c', namespace: 'app.c', index: 'u_1', outcome: 'absent', unique: true, failure: 'Refused (67)' },
  ]);
  // They are not wanted any more, in either form.
  const there = entryOf([k]);
  const deps = { indexScope: 'all', remap: noRemap, destination, skipped } as const;
  for (const form of ['temporary', 'final'] as const)
    expect(compareCatalogs([entryOf([a, u, k])], [there], { ...deps, form })).toEqual([]);
});

it('what cannot be built is refused by name without the choice, and where a shard key needs it', async () => {
  const refusal = (name: RegExp) => ({
    error: 'indexNotSupported',
    errorDescription: expect.stringMatching(name) as string,
  });
  expect((await built({ a_1: 16_755 }, false)).error).toMatchObject(
    refusal(/cannot build a_1 \(Refused \(16755\)\) of/),
  );
  const { error, skipped } = await built({ k_1_x_1: 67 }, true);
  expect(error).toMatchObject(refusal(/cannot build k_1_x_1 .* of app\.c/));
  expect(skipped).toEqual([]);
});

it.each([171, 16_755, 16_766, 17_262])(
  'a document that may be outdated refuses no index for good (%i)',
  async (code) => {
    const { error, skipped, present } = await built({ a_1: code, u_1: 67 }, true, () => true);
    expect(error).toMatchObject({ code });
    expect(skipped).toMatchObject([{ index: 'u_1' }]);
    expect(present).toContain('k_1_x_1');
    // A shard that has built it would keep it if the source dropped it meanwhile.
    expect(present).not.toContain('a_1');
    expect((await built({ a_1: code }, true, () => false)).skipped).toMatchObject([{ index: 'a_1' }]);
  },
);

it('while an index waits for its documents, the TTL of others is off', async () => {
  const t = { v: 2, key: { t: 1 }, name: 't_1', expireAfterSeconds: 60 };
  const { error, switchedOff } = await built({ a_1: 171 }, false, () => true, [a, t, k]);
  expect(error).toMatchObject({ code: 171 });
  expect(switchedOff).toEqual(['t_1']);
});

it.each([276, 262, 13, 361])('a failure that may pass, or is not about the index, skips nothing (%i)', async (code) => {
  const { error, skipped } = await built({ a_1: code }, true);
  expect(error).toMatchObject({ code });
  expect(skipped).toEqual([]);
});

it.each([
  ['a_1', a],
  ['t_1', { v: 2, key: { t: 1 }, name: 't_1', expireAfterSeconds: 60 }],
])('what one shard could not build during an election is built there by the next attempt (%s)', async (name, index) => {
  const shards = new TwoShards();
  const plan = shards.planOf([index, k]);
  const build = (names: readonly string[]): Promise<unknown> => {
    const wanted = plan.indexes.flatMap(({ temporary }) => (temporary === null ? [] : [temporary]));
    const chosen = wanted.filter((one) => names.includes(String(one.name)));
    return buildMissing(
      { client: shards.cluster.router, signal: never, confirm: () => Promise.resolve() },
      plan,
      chosen,
    );
  };
  shards.refused = 'createIndexes';
  await expect(build([name])).rejects.toMatchObject({ code: 10_107 });
  expect(shards.names).toEqual([[name], []]);
  if ('expireAfterSeconds' in index) Object.assign(shards.indexes.a[1] ?? {}, { expireAfterSeconds: 2_147_483_647 });
  await build([name, 'k_1_x_1']);
  expect(shards.names).toEqual([[name, 'k_1_x_1'], expect.arrayContaining([name, 'k_1_x_1'])]);
  const ttlOf = (list: Document[]): unknown => list.find((one) => one.name === name)?.expireAfterSeconds;
  expect(ttlOf(shards.indexes.b)).toBe(ttlOf(shards.indexes.a));
});

it('another definition under a skipped name is tried anew, and a record skips no needed index', async () => {
  const { skipped } = await built({ a_1: 67 }, true);
  const names = (plan: CollectionPlan): unknown[] => plan.indexes.map(({ final }) => final.name as unknown);
  expect(names(planOf(skipped))).toEqual(['u_1', 'k_1_x_1']);
  expect(names(planOf(skipped, [{ ...a, sparse: true }, k]))).toEqual(['a_1', 'k_1_x_1']);
  const [one] = skipped;
  if (one === undefined) throw new Error('a_1 was skipped');
  const { sharding, ...entry } = entryOf([a]);
  const needs = { ...entry, sharding: sharding && { ...sharding, key: keyPattern({ a: 1 }) } };
  const deps = { source: { shardIds: ['s0'] }, destination, indexScope: 'all', skipped, remap: noRemap } as const;
  expect(names(planCollection(needs, deps).plan)).toEqual(['a_1']);
});

describe('indexes that are being built', () => {
  const portable = portableIndex('app.c', indexAsRead(a)).index;
  const instantly = { sleep: () => Promise.resolve(), monotonic_ms: () => 0 };
  const local = { sharding: null, indexes: [], sourceNamespace: { database: 'app', name: 'c' } };
  const plan = { ...planOf(), ...local };

  /** A router whose collection builds an index until it has been looked at some times. */
  function routerWith(found: Document, looks: number, end: 'ready' | 'failed') {
    let left = looks;
    return new FakeNodeClient('router', {
      listIndexes: () => {
        const last = end === 'ready' ? [found] : [];
        const own = left > 0 ? [{ spec: found, buildUUID: 'uuid' }] : last;
        left -= 1;
        return { cursor: { firstBatch: [id, ...own] } };
      },
      createIndexes: () => ({}),
      dropIndexes: () => (left > 0 ? refuse() : {}),
      collMod: () => (left > 0 ? refuse() : {}),
    });
  }

  function refuse(): never {
    throw serverError(12_587, 'BackgroundOperationInProgressForNamespace');
  }

  function buildingOn(client: FakeNodeClient) {
    const builds = new BuildsUnderWay(instantly);
    return { client, signal: never, confirm: () => Promise.resolve(), builds };
  }

  function sentBy(client: FakeNodeClient, name: string): Document[] {
    return client.sent.map(({ command }) => command).filter((command) => name in command);
  }

  it('are waited for, and are built only if that fails', async () => {
    for (const [end, commands] of [
      ['ready', 0],
      ['failed', 1],
    ] as const) {
      const client = routerWith(a, 3, end);
      await buildMissing(buildingOn(client), plan, [portable]);
      expect(sentBy(client, 'createIndexes')).toHaveLength(commands);
      expect(sentBy(client, 'listIndexes').every(({ includeBuildUUIDs }) => includeBuildUUIDs === true)).toBe(true);
      expect(sentBy(client, 'listIndexes')).toHaveLength(4);
    }
  });

  it('are another index where they differ', async () => {
    const client = routerWith({ ...a, key: { a: -1 } }, 3, 'ready');
    const attempt = buildMissing(buildingOn(client), plan, [portable]);
    await expect(attempt).rejects.toMatchObject({ error: 'catalogDiffers' });
  });

  it('let other changes of the collection wait, which servers refuse meanwhile', async () => {
    for (const change of [
      (on: FakeNodeClient) => changeIndex(buildingOn(on), plan, { name: 'b_1', hidden: true }),
      (on: FakeNodeClient) => dropIndex(buildingOn(on), plan.entry, 'b_1'),
    ]) {
      const client = routerWith(a, 3, 'ready');
      await change(client);
      expect(sentBy(client, 'collMod').length + sentBy(client, 'dropIndexes').length).toBe(2);
    }
  });

  it('need a majority of the voting members, or what the server takes', async () => {
    for (const code of [null, 2, 278]) {
      const client = new FakeNodeClient('router', {
        createIndexes: (_database, { commitQuorum }) => {
          if (code !== null && commitQuorum !== undefined) throw serverError(code, 'Refused');
          return {};
        },
      });
      await sendCreateIndexes(buildingOn(client), plan, [portable]);
      const quorums = sentBy(client, 'createIndexes').map(({ commitQuorum }) => commitQuorum as unknown);
      expect(quorums).toEqual(code === null ? ['majority'] : ['majority', undefined]);
    }
  });
});

describe('indexes of a time series', () => {
  const fr = { locale: 'fr', strength: 3 };
  const written = (key: string, more: Document = {}): Document => ({
    key: keyPattern({ [`control.min.${key}`]: 1 }),
    name: key,
    originalSpec: new Map(Object.entries({ v: 2, name: key, key: keyPattern({ [key]: 1 }), ...more })),
  });
  const plan = {
    ...planOf(),
    entry: { ...entryOf([]), name: 'system.buckets.c' },
    options: { collation: fr },
    sharding: null,
  };

  it('are built as their user wrote them, by what they compare', async () => {
    const client = new FakeNodeClient('router', { createIndexes: () => ({}) });
    const building = { client, signal: never, confirm: () => Promise.resolve() };
    const en = { locale: 'en' };
    await sendCreateIndexes(building, plan, [
      written('simple'),
      { ...written('own', { collation: { ...fr, version: '57.1' } }), collation: fr },
      { ...written('other', { collation: { ...en, version: '57.1' } }), collation: en },
    ]);
    const [sent] = client.sent;
    expect(sent?.command.createIndexes).toBe('c');
    const specifications = sent?.command.indexes as Document[];
    expect(specifications.map(({ name, collation }) => [name as string, collation as unknown])).toEqual([
      ['simple', { locale: 'simple' }],
      ['own', undefined],
      ['other', en],
    ]);
  });

  it('are the same where only the version of a collation differs, and others where the collation does', () => {
    const ofVersion = (version: string): Document => ({
      ...written('own', { collation: { ...fr, version } }),
      collation: fr,
    });
    expect(isBuiltAs(ofVersion('57.1'), ofVersion('70'))).toBe(true);
    expect(isBuiltAs(ofVersion('57.1'), written('own'))).toBe(false);
  });
});
