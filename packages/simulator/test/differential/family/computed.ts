import type { Json } from '../../conformance/corpus-file.js';
import type { Random } from '../random.js';
import { array, fields, names, number, path, scalar, value } from '../values.js';

type Make = (random: Random, depth: number) => Json;

const field: Make = (random) => `$${path(random)}`;
const plain: Make = (random) => ({ $literal: value(random, 1) });

/** An expression; most of what its operators are given is of the type that they take. */
export const expression: Make = (random, depth) => {
  if (depth === 0)
    return random.weighted<Json>([
      [3, () => field(random, 0)],
      [2, () => plain(random, 0)],
      [0.3, () => '$$ROOT'],
      [0.2, () => '$$REMOVE'],
    ]);
  return random.weighted<Json>([
    [4, () => numeric(random, depth)],
    [2, () => truth(random, depth)],
    [3, () => list(random, depth)],
    [3, () => text(random, depth)],
    [2, () => date(random, depth)],
    [2, () => object(random, depth)],
    [2, () => choice(random, depth)],
    [1, () => conversion(random, depth)],
  ]);
};

const inner: Make = (random, depth) => expression(random, depth - 1);

/** A number as a rule. */
const numeric: Make = (random, depth) => {
  const given = (): Json =>
    random.weighted<Json>([
      [4, () => number(random)],
      [1, () => field(random, 0)],
      [1, () => (depth > 1 ? numeric(random, depth - 1) : 1)],
    ]);
  return random.weighted<Json>([
    [4, () => ({ [random.pick(['$add', '$multiply'])]: random.list(1, 3, given) })],
    [4, () => ({ [random.pick(['$subtract', '$divide', '$mod', '$pow'])]: [given(), given()] })],
    [4, () => ({ [random.pick(['$abs', '$ceil', '$floor', '$sqrt', '$trunc', '$round', '$exp'])]: given() })],
    [1, () => ({ [random.pick(['$round', '$trunc'])]: [given(), random.int(-1, 2)] })],
    [
      2,
      () => ({
        [random.pick(['$sum', '$avg', '$min', '$max'])]: random.chance(0.5)
          ? field(random, 0)
          : random.list(1, 3, given),
      }),
    ],
    [1, () => ({ $cmp: [inner(random, depth), inner(random, depth)] })],
    [1, () => ({ $size: arrays(random) })],
    [1, () => ({ [random.pick(['$strLenCP', '$strLenBytes'])]: texts(random) })],
    [1, () => ({ [random.pick(['$indexOfCP', '$indexOfBytes'])]: [texts(random), texts(random)] })],
    [1, () => ({ $indexOfArray: [arrays(random), scalar(random)] })],
  ]);
};

/** True or false. */
const truth: Make = (random, depth) =>
  random.weighted<Json>([
    [
      4,
      () => ({
        [random.pick(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'])]: [inner(random, depth), inner(random, depth)],
      }),
    ],
    [2, () => ({ [random.pick(['$and', '$or'])]: random.list(0, 3, () => inner(random, depth)) })],
    [1, () => ({ $not: [inner(random, depth)] })],
    [1, () => ({ $in: [inner(random, depth), arrays(random)] })],
    [1, () => ({ [random.pick(['$isArray', '$isNumber'])]: [inner(random, depth)] })],
    [1, () => ({ [random.pick(['$setEquals', '$setIsSubset'])]: [arrays(random), arrays(random)] })],
    [1, () => ({ [random.pick(['$anyElementTrue', '$allElementsTrue'])]: [arrays(random)] })],
    [1, () => ({ $regexMatch: { input: texts(random), regex: random.pick(['^a', 'b', '[a-c]+']) } })],
  ]);

function arrays(random: Random): Json {
  return random.weighted<Json>([
    [3, () => ({ $literal: array(random) })],
    [1, () => field(random, 0)],
    [1, () => [scalar(random), field(random, 0)]],
  ]);
}

function texts(random: Random): Json {
  return random.weighted<Json>([
    [4, () => ({ $literal: random.pick(['', 'a', 'abc', 'Ab c', ' aé ', 'b,a,b', '日本']) })],
    [1, () => field(random, 0)],
  ]);
}

const list: Make = (random, depth) =>
  random.weighted<Json>([
    [2, () => ({ $concatArrays: random.list(1, 3, () => arrays(random)) })],
    [2, () => ({ $slice: [arrays(random), ...random.list(1, 2, () => random.int(-2, 3))] })],
    [2, () => ({ $arrayElemAt: [arrays(random), random.int(-3, 3)] })],
    [1, () => ({ [random.pick(['$first', '$last', '$reverseArray'])]: arrays(random) })],
    [1, () => ({ $range: [random.int(-1, 2), random.int(0, 5), random.pick([1, 2, -1, 0])] })],
    [2, () => ({ $filter: { input: arrays(random), as: 'e', cond: { $gt: ['$$e', number(random)] } } })],
    [
      2,
      () => ({
        $map: { input: arrays(random), as: 'e', in: { v: '$$e', w: depth > 1 ? inner(random, depth - 1) : 1 } },
      }),
    ],
    [
      1,
      () => ({ $reduce: { input: arrays(random), initialValue: [], in: { $concatArrays: ['$$value', ['$$this']] } } }),
    ],
    [
      2,
      () => ({ [random.pick(['$setUnion', '$setIntersection', '$setDifference'])]: [arrays(random), arrays(random)] }),
    ],
    [1, () => ({ $objectToArray: objects(random) })],
    [1, () => ({ $zip: { inputs: [arrays(random), arrays(random)], useLongestLength: random.chance(0.5) } })],
    [1, () => ({ $split: [texts(random), random.pick(['a', ',', ' '])] })],
  ]);

const text: Make = (random) =>
  random.weighted<Json>([
    [3, () => ({ $concat: random.list(1, 3, () => texts(random)) })],
    [2, () => ({ [random.pick(['$toUpper', '$toLower'])]: texts(random) })],
    [2, () => ({ [random.pick(['$substrCP', '$substrBytes'])]: [texts(random), random.int(0, 2), random.int(-1, 3)] })],
    [
      2,
      () => ({
        [random.pick(['$trim', '$ltrim', '$rtrim'])]: {
          input: texts(random),
          ...(random.chance(0.4) && { chars: random.pick(['a', ' ', 'ab']) }),
        },
      }),
    ],
    [1, () => ({ $strcasecmp: [texts(random), texts(random)] })],
    [
      1,
      () => ({
        [random.pick(['$replaceOne', '$replaceAll'])]: {
          input: texts(random),
          find: random.pick(['a', 'b', '']),
          replacement: random.pick(['x', '']),
        },
      }),
    ],
    [
      1,
      () => ({
        [random.pick(['$regexFind', '$regexFindAll'])]: { input: texts(random), regex: random.pick(['a', '(b)', 'z']) },
      }),
    ],
    [1, () => ({ $type: field(random, 0) })],
    [1, () => ({ $toString: random.chance(0.6) ? { $literal: scalar(random) } : field(random, 0) })],
  ]);

function dates(random: Random): Json {
  return random.weighted<Json>([
    [
      4,
      () => ({
        $date: {
          $numberLong: random.pick(['0', '1600000000000', '-1', '1577836799999', '951782400000', '1709210096789']),
        },
      }),
    ],
    [1, () => ({ $timestamp: { t: random.int(1, 3), i: 0 } })],
    [1, () => ({ $oid: '5f5e10000000000000000001' })],
    [1, () => field(random, 0)],
  ]);
}

const parts = [
  '$year',
  '$month',
  '$dayOfMonth',
  '$dayOfYear',
  '$dayOfWeek',
  '$week',
  '$isoWeek',
  '$isoWeekYear',
  '$isoDayOfWeek',
  '$hour',
  '$minute',
  '$second',
  '$millisecond',
];

const date: Make = (random) =>
  random.weighted<Json>([
    [4, () => ({ [random.pick(parts)]: dates(random) })],
    [
      1,
      () => ({
        $dateToString: {
          date: dates(random),
          ...(random.chance(0.6) && { format: random.pick(['%Y-%m-%d', '%H:%M:%S.%L', '%G-%V-%u', '%j %z %%']) }),
        },
      }),
    ],
    [1, () => ({ $dateToParts: { date: dates(random), ...(random.chance(0.3) && { iso8601: true }) } })],
    [
      1,
      () => ({
        [random.pick(['$dateAdd', '$dateSubtract'])]: {
          startDate: dates(random),
          unit: random.pick(['day', 'month', 'hour', 'quarter']),
          amount: random.int(-3, 14),
        },
      }),
    ],
    [
      1,
      () => ({
        $dateDiff: {
          startDate: dates(random),
          endDate: dates(random),
          unit: random.pick(['day', 'week', 'month', 'second']),
        },
      }),
    ],
    [
      1,
      () => ({
        $dateTrunc: {
          date: dates(random),
          unit: random.pick(['day', 'week', 'month', 'hour']),
          binSize: random.int(1, 3),
        },
      }),
    ],
    [1, () => ({ $dateFromParts: { year: random.int(1999, 2021), month: random.int(0, 14), day: random.int(0, 33) } })],
    [
      1,
      () => ({
        $dateFromString: { dateString: random.pick(['2020-01-02', '2020-01-02T03:04:05Z', 'x', '2021-02-29']) },
      }),
    ],
  ]);

function objects(random: Random): Json {
  return random.weighted<Json>([
    [2, () => ({ $literal: fields(random, 1) })],
    [1, () => '$$ROOT'],
    [1, () => field(random, 0)],
  ]);
}

const object: Make = (random, depth) =>
  random.weighted<Json>([
    [2, () => ({ $mergeObjects: random.list(1, 2, () => objects(random)) })],
    [
      1,
      () => ({
        $arrayToObject: {
          $literal: [
            { k: random.pick(names), v: scalar(random) },
            { k: 'a', v: 1 },
          ],
        },
      }),
    ],
    [
      1,
      () => ({
        $getField: random.chance(0.5)
          ? random.pick(names)
          : { field: random.pick([...names, 'a.b']), input: objects(random) },
      }),
    ],
    [
      1,
      () => ({
        $setField: { field: random.pick([...names, 'a.b', '$x']), input: objects(random), value: inner(random, depth) },
      }),
    ],
    [2, () => Object.fromEntries(random.list(1, 2, (): [string, Json] => [random.pick(names), inner(random, depth)]))],
    [1, () => random.list(0, 2, () => inner(random, depth))],
  ]);

const choice: Make = (random, depth) =>
  random.weighted<Json>([
    [2, () => ({ $cond: [inner(random, depth), inner(random, depth), inner(random, depth)] })],
    [2, () => ({ $ifNull: [field(random, 0), ...random.list(1, 2, () => inner(random, depth))] })],
    [
      1,
      () => ({
        $switch: {
          branches: random.list(1, 2, () => ({ case: inner(random, depth), then: inner(random, depth) })),
          ...(random.chance(0.8) && { default: 0 }),
        },
      }),
    ],
    [1, () => ({ $let: { vars: { x: inner(random, depth) }, in: { $eq: ['$$x', inner(random, depth)] } } })],
  ]);

const conversion: Make = (random) =>
  random.weighted<Json>([
    [
      3,
      () => ({
        [random.pick(['$toInt', '$toLong', '$toDouble', '$toDecimal', '$toBool', '$toDate'])]: {
          $literal: scalar(random),
        },
      }),
    ],
    [
      2,
      () => ({
        $convert: {
          input: { $literal: scalar(random) },
          to: random.pick(['int', 'long', 'double', 'decimal', 'bool', 'string', 'date', 'objectId']),
          onError: 'E',
          onNull: 'N',
        },
      }),
    ],
    [1, () => ({ $bsonSize: objects(random) })],
  ]);
