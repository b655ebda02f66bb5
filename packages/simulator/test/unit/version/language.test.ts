import { describe, expect, it } from 'vitest';
import { type LanguagePart, languageNames } from '../../../src/node/language-names.js';
import { releaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { failureOf, VersionedShard } from '../shard/versioned-shard.js';

type Json = Record<string, unknown>;

/** A stage of the table that is not asked for in a pipeline of a shard: it has a file and tests of its own. */
const askedElsewhere = '$changeStreamSplitLargeEvent';

/** A pipeline that uses a name, and what a release answers that has never heard of it (recorded on 5.0.7). */
const uses: Readonly<Record<LanguagePart, (name: string) => { stage: Json; unknown: object }>> = {
  expression: (name) => ({
    stage: { $project: { x: { [name]: 1 } } },
    unknown: { code: 31325, message: `Invalid $project :: caused by :: Unknown expression ${name}` },
  }),
  accumulator: (name) => ({
    stage: { $group: { _id: 1, x: { [name]: {} } } },
    unknown: { code: 15952, message: `unknown group operator '${name}'` },
  }),
  stage: (name) => ({
    stage: { [name]: {} },
    unknown: { code: 40324, message: `Unrecognized pipeline stage name: '${name}'` },
  }),
  query: (name) => ({ stage: { $match: { [name]: 1 } }, unknown: { code: 2 } }),
  condition: (name) => ({
    stage: { $match: { n: { [name]: 1 } } },
    unknown: { code: 2, message: `unknown operator: ${name}` },
  }),
  variable: (name) => ({
    stage: { $project: { x: `$$${name}` } },
    unknown: { code: 17276, message: `Invalid $project :: caused by :: Use of undefined variable: ${name}` },
  }),
  option: (name) => optionUses[name] ?? { stage: {}, unknown: {} },
};

const optionUses: Readonly<Record<string, { stage: Json; unknown: object }>> = {
  '$lookup without a collection': {
    stage: { $lookup: { pipeline: [{ $documents: [] }], as: 'x' } },
    unknown: {
      code: 9,
      message: 'missing \'from\' option to $lookup stage specification: { pipeline: [ { $documents: [] } ], as: "x" }',
    },
  },
  '$unionWith without a collection': {
    stage: { $unionWith: { pipeline: [] } },
    unknown: {
      code: 9,
      message: '$unionWith stage without explicit collection must have a pipeline with $documents as first stage',
    },
  },
  '$out.timeseries': {
    stage: { $out: { db: 'db', coll: 'o', timeseries: { timeField: 't' } } },
    unknown: { code: 16994, message: "If an object is passed to $out it must have exactly 2 fields: 'db' and 'coll'" },
  },
  '$convert.format': {
    stage: { $project: { x: { $convert: { input: '$n', to: 'string', format: 'auto' } } } },
    unknown: {},
  },
  '$convert of binary data': {
    stage: { $project: { x: { $convert: { input: '$n', to: 'binData' } } } },
    unknown: { code: 241 },
  },
};

const names = Object.entries(languageNames).flatMap(([part, known]) =>
  [...known].map(([name, since]) => ({ part: part as LanguagePart, name, since })),
);

async function answer(shard: VersionedShard, stage: Json): Promise<{ code: number; message: string } | undefined> {
  const run = shard.run('db', { aggregate: 'c', pipeline: [stage], cursor: {} });
  return run.then(
    () => undefined,
    () => failureOf(run),
  );
}

describe.each(releaseSeries)('the languages of %s', (series) => {
  it('have the names of the release, made or refused by name, and know no other', async () => {
    using shard = new VersionedShard(series);
    await shard.run('db', { insert: 'c', documents: [{ _id: 1, n: 1 }] });
    const version = ServerVersion.parse(series);
    for (const { part, name, since } of names.filter((each) => each.name !== askedElsewhere)) {
      const { stage, unknown } = uses[part](name);
      const failed = await answer(shard, stage);
      const isKnown = version.atLeast(...since);
      if (isKnown && failed?.code !== 115) expect(failed ?? {}, name).not.toMatchObject(unknownOf(unknown));
      else if (isKnown)
        expect(failed, name).toMatchObject({
          code: 115,
          message: expect.stringContaining(`${name} is not part of this simulation`) as string,
        });
      else if (name === '$documents' && series === '5.0') expect(failed, name).toMatchObject({ code: 5491300 });
      else expect(failed, name).toMatchObject(unknown);
    }
  });
});

it.each([
  ['explain', '4.4', null],
  ['killOp', '4.4', null],
  ['bulkWrite', '8.0', '7.0'],
] as const)('members refuse %s by name since %s, and do not know it before', async (name, since, before) => {
  using shard = new VersionedShard(since);
  expect(await failureOf(shard.run('admin', { [name]: 1 }))).toEqual({
    code: 115,
    message: `${name} is not part of this simulation`,
  });
  if (before === null) return;
  using older = new VersionedShard(before);
  expect(await failureOf(older.run('admin', { [name]: 1 }))).toMatchObject({ code: 59 });
});

/** What is known may fail for its operand, but not as unknown. */
function unknownOf(unknown: object): object {
  return Object.keys(unknown).length === 0 ? { code: -1 } : unknown;
}

describe('newer names within older places', () => {
  it.each([
    [{ find: 'c', filter: { $expr: { $sortArray: {} } } }],
    [{ find: 'c', filter: { n: { $elemMatch: { $near: [] } } } }],
    [{ find: 'c', projection: { x: { $firstN: {} } } }],
    [{ update: 'c', updates: [{ q: {}, u: [{ $set: { x: { $bitAnd: [1, 2] } } }] }] }],
    [{ findAndModify: 'c', update: [{ $set: { x: { $median: {} } } }] }],
    [{ create: 'd', validator: { $expr: { $maxN: {} } } }],
    [{ aggregate: 'c', pipeline: [{ $facet: { x: [{ $group: { _id: 1, t: { $topN: {} } } }] } }], cursor: {} }],
  ])('%j is refused by name in 7.0', async (command) => {
    using shard = new VersionedShard('7.0');
    await shard.run('db', { insert: 'c', documents: [{ _id: 1, n: [1] }] });
    expect(await failureOf(shard.run('db', command))).toMatchObject({ code: 115 });
  });
});
