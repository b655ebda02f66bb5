import type { Json } from '../../conformance/corpus-file.js';
import type { Family } from '../case.js';
import type { Random } from '../random.js';
import { type Fields, names, path, scalar, value } from '../values.js';
import { expression } from './computed.js';
import { filter, projection, searched, sort } from './filters.js';
import { askingAbout, type Layout } from './stored.js';

/** A family of pipelines over documents of one collection of each case, most of them unsharded. */
function aggregating(name: string, pipeline: (random: Random, layout: Layout) => Json[]): Family {
  const ask = (random: Random, layout: Layout): Json => ({
    aggregate: layout,
    pipeline: pipeline(random, layout),
    cursor: {},
  });
  return askingAbout(name, {
    layouts: [
      [4, 'plain'],
      [1, 'ranged'],
    ],
    documents: [3, 8],
    commands: [5, 10],
    make: searched,
    ask,
  });
}

const byId: Json = { $sort: { _id: 1 } };

/** Expressions, each computed for some documents. */
export const expressions = aggregating('expressions', (random) => [
  byId,
  { $limit: 3 },
  { $project: { r: expression(random, random.int(1, 3)) } },
]);

const accumulators: Readonly<Record<string, (random: Random) => Json>> = {
  $sum: (random) => random.pick<Json>([1, `$${path(random)}`]),
  $avg: (random) => `$${path(random)}`,
  $min: (random) => `$${path(random)}`,
  $max: (random) => `$${path(random)}`,
  $first: (random) => `$${path(random)}`,
  $last: (random) => `$${path(random)}`,
  $push: (random) => random.pick<Json>([`$${path(random)}`, '$_id']),
  $stdDevPop: (random) => `$${path(random)}`,
  $mergeObjects: (random) => random.pick<Json>(['$$ROOT', `$${path(random)}`]),
};

/** Groups, which come in the order of their ids. */
export const groups = aggregating('groups', (random) => {
  const by = random.weighted<Json>([
    [3, () => `$${path(random)}`],
    [1, () => null],
    [1, () => ({ x: `$${path(random)}`, y: `$${path(random)}` })],
    [1, () => ({ $type: `$${path(random)}` })],
    [1, () => ({ $mod: ['$_id', 3] })],
    [0.5, () => '$missing'],
  ]);
  const collected = random.list(0, 3, (index): [string, Json] => {
    const name = random.pick(Object.keys(accumulators));
    return [`f${index}`, { [name]: accumulators[name]?.(random) ?? 1 }];
  });
  return [byId, { $group: { _id: by, ...Object.fromEntries(collected) } }, byId];
});

/** Stages of all kinds. */
export const stages = aggregating('stages', (random, layout) => [
  byId,
  ...random.list(1, 3, () => stage(random, layout)),
]);

function stage(random: Random, layout: Layout): Fields {
  return random.weighted<Fields>([
    [2, () => ({ $match: filter(random) })],
    [2, () => ({ $project: projection(random) })],
    [
      2,
      () => ({
        [random.pick(['$set', '$addFields'])]: Object.fromEntries(
          random.list(1, 2, (): [string, Json] => [path(random), expression(random, 1)]),
        ),
      }),
    ],
    [1, () => ({ $unset: random.chance(0.5) ? path(random) : random.list(1, 2, () => path(random)) })],
    [2, () => ({ $unwind: random.chance(0.5) ? `$${path(random)}` : unwind(random) })],
    [
      1,
      () => ({
        $replaceWith: random.pick<Json>([
          { $mergeObjects: ['$$ROOT', { z: 1 }] },
          { v: `$${path(random)}` },
          `$${path(random)}`,
        ]),
      }),
    ],
    [1, () => ({ [random.pick(['$limit', '$skip'])]: random.int(0, 4) })],
    [1, () => ({ $sort: sort(random) })],
    [1, () => ({ $count: random.pick(['n', 'a.b', '$n', '']) })],
    [1, () => lookup(random, layout)],
    [1, () => ({ $facet: { x: [{ $match: filter(random) }], y: [{ $count: 'n' }] } })],
    [
      0.7,
      () => ({ $bucket: { groupBy: '$_id', boundaries: [-3, 0, 3], ...(random.chance(0.7) && { default: 'other' }) } }),
    ],
    [
      0.5,
      () => ({
        $redact: {
          $cond: [{ $eq: [`$${random.pick(names)}`, scalar(random)] }, '$$PRUNE', random.pick(['$$DESCEND', '$$KEEP'])],
        },
      }),
    ],
    [0.5, () => ({ $match: { [random.pick(names)]: value(random, 1) } })],
  ]);
}

function unwind(random: Random): Fields {
  return {
    path: `$${path(random)}`,
    ...(random.chance(0.5) && { includeArrayIndex: random.pick(['i', 'a.i']) }),
    ...(random.chance(0.5) && { preserveNullAndEmptyArrays: random.chance(0.8) }),
  };
}

function lookup(random: Random, layout: Layout): Fields {
  const to = random.pick(['j', 'a', 'a.j']);
  if (layout === 'ranged' || random.chance(0.6))
    return {
      $lookup: { from: 'plain', localField: path(random), foreignField: random.pick([path(random), '_id']), as: to },
    };
  return {
    $lookup: {
      from: 'plain',
      let: { x: `$${path(random)}` },
      pipeline: [{ $match: { $expr: { $eq: ['$a', '$$x'] } } }, byId, { $project: { _id: 1 } }],
      as: to,
    },
  };
}
