import type { Json } from '../../conformance/corpus-file.js';
import type { Random } from '../random.js';
import { array, type Fields, fields, names, number, path, scalar, value } from '../values.js';

/** A filter of a find, through paths that documents may have. */
export function filter(random: Random, depth = 2): Fields {
  return Object.assign({}, ...random.list(1, random.chance(0.3) ? 2 : 1, () => condition(random, depth))) as Fields;
}

function condition(random: Random, depth: number): Fields {
  if (depth > 0 && random.chance(0.2))
    return { [random.pick(['$and', '$or', '$nor'])]: random.list(1, 3, () => filter(random, depth - 1)) };
  if (random.chance(0.04))
    return { $expr: { [random.pick(['$eq', '$gt', '$lte'])]: [`$${path(random)}`, scalar(random)] } };
  return { [path(random)]: random.chance(0.3) ? value(random, 1) : operators(random, depth) };
}

function operators(random: Random, depth: number): Fields {
  return Object.assign({}, ...random.list(1, random.chance(0.2) ? 2 : 1, () => operator(random, depth))) as Fields;
}

function operator(random: Random, depth: number): Fields {
  return random.weighted<Fields>([
    [6, () => ({ [random.pick(['$eq', '$gt', '$gte', '$lt', '$lte', '$ne'])]: value(random, 1) })],
    [3, () => ({ [random.pick(['$in', '$nin'])]: array(random) })],
    [1.5, () => ({ $exists: random.pick<Json>([true, false, 1, 0]) })],
    [1.5, () => ({ $type: type(random) })],
    [1.5, () => ({ $size: random.pick<Json>([0, 1, 2, 3, { $numberLong: '1' }, -1, { $numberDouble: '1.5' }]) })],
    [2, () => ({ $all: array(random) })],
    [2, () => ({ $elemMatch: random.chance(0.5) && depth > 0 ? filter(random, depth - 1) : operators(random, 0) })],
    [1, () => ({ $mod: [number(random), number(random)] })],
    [
      1,
      () => ({
        $regex: random.pick(['^a', 'b', 'A', '', '^$']),
        ...(random.chance(0.4) && { $options: random.pick(['i', 'm', 's', '']) }),
      }),
    ],
    [1.5, () => ({ $not: depth > 0 ? operators(random, depth - 1) : { $gt: number(random) } })],
    [
      1,
      () => ({
        [random.pick(['$bitsAllSet', '$bitsAnySet', '$bitsAllClear', '$bitsAnyClear'])]: random.pick<Json>([
          1,
          3,
          [0],
          [0, 2],
        ]),
      }),
    ],
  ]);
}

function type(random: Random): Json {
  const names = [
    'double',
    'string',
    'object',
    'array',
    'binData',
    'objectId',
    'bool',
    'date',
    'null',
    'regex',
    'int',
    'timestamp',
    'long',
    'decimal',
    'number',
    'minKey',
    'maxKey',
  ];
  return random.weighted<Json>([
    [3, () => random.pick(names)],
    [1, () => random.pick([1, 2, 3, 4, 8, 10, 16, 18, -1, 0])],
    [1, () => random.some(names, 2)],
  ]);
}

/** What a find shows of a document. */
export function projection(random: Random): Fields {
  const including = random.chance(0.5);
  const shown = random.list(1, 3, (): [string, Json] => [path(random), projected(random, including)]);
  return Object.fromEntries([...shown, ...(random.chance(0.3) ? [['_id', random.pick([0, 1])] as const] : [])]);
}

function projected(random: Random, including: boolean): Json {
  const plain = random.pick<Json>(including ? [1, true, { $numberDouble: '1.0' }] : [0, false]);
  return random.weighted<Json>([
    [8, () => plain],
    [1, () => ({ $slice: random.pick<Json>([1, 2, -1, -2, 0, [1, 1], [-2, 1]]) })],
    [
      1,
      () => ({ $elemMatch: random.chance(0.5) ? { [random.pick(names)]: scalar(random) } : { $gt: number(random) } }),
    ],
    [
      1,
      () =>
        including
          ? random.pick<Json>([`$${path(random)}`, { $literal: value(random, 1) }, { [random.pick(names)]: 1 }])
          : { [random.pick(names)]: 0 },
    ],
    [0.3, () => (including ? 0 : 1)],
  ]);
}

/** An order of documents in which every one has its place. */
export function sort(random: Random): Fields {
  const paths = random.list(1, 2, (): [string, Json] => [path(random), random.pick([1, -1])]);
  return { ...Object.fromEntries(paths), _id: random.pick([1, -1]) };
}

/** A document with arrays in which filters, projections and sorts find something. */
export function searched(random: Random): Fields {
  return { ...fields(random, 3), ...(random.chance(0.4) && { a: array(random, 2) }) };
}
