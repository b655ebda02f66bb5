import type { Json } from '../../conformance/corpus-file.js';
import type { Random } from '../random.js';
import { array, type Fields, names, number, path, scalar, value } from '../values.js';
import { idMax, idMin, keyFields, type Layout } from './stored.js';

/** The filter of one document by its id, with its shard key where one is asked for. */
export function oneDocument(random: Random, layout: Layout): Fields {
  return { _id: random.int(idMin, idMax), ...keyFields(random, layout) };
}

/** An update by operators on paths that documents may have. */
export function operators(random: Random): Fields {
  const update: Record<string, Fields> = {};
  for (const operator of random.some(
    Object.keys(operands),
    random.weighted([
      [5, () => 1],
      [2, () => 2],
      [1, () => 3],
    ]),
  )) {
    const make = operands[operator];
    if (make !== undefined)
      update[operator] = Object.fromEntries(random.list(1, 2, () => [path(random), make(random)]));
  }
  return update;
}

const operands: Readonly<Record<string, (random: Random) => Json>> = {
  $set: (random) => value(random),
  $unset: () => '',
  $inc: number,
  $mul: number,
  $min: scalar,
  $max: scalar,
  $rename: (random) => path(random),
  $push: (random) =>
    random.weighted<Json>([
      [2, () => value(random, 1)],
      [2, () => pushed(random)],
    ]),
  $addToSet: (random) => (random.chance(0.5) ? scalar(random) : { $each: array(random) }),
  $pop: (random) => random.pick([1, -1]),
  $pull: (random) =>
    random.weighted<Json>([
      [2, () => scalar(random)],
      [1, () => ({ $gt: number(random) })],
      [1, () => ({ [random.pick(names)]: scalar(random) })],
    ]),
  $pullAll: (random) => array(random, 0),
  $setOnInsert: scalar,
  $bit: (random) => ({ [random.pick(['and', 'or', 'xor'])]: random.int(0, 7) }),
};

function pushed(random: Random): Fields {
  return {
    $each: array(random),
    ...(random.chance(0.3) && { $position: random.int(-2, 3) }),
    ...(random.chance(0.3) && { $slice: random.int(-2, 3) }),
    ...(random.chance(0.3) && { $sort: random.pick<Json>([1, -1, { a: 1 }]) }),
  };
}

/** Stages of an update, as the engine sends them and beyond. */
export function stages(random: Random): Fields[] {
  return random.list(1, 3, () =>
    random.weighted<Fields>([
      [4, () => ({ $set: Object.fromEntries(random.list(1, 2, () => [path(random), operand(random)])) })],
      [2, () => ({ $unset: random.list(1, 2, () => path(random)) })],
      [1, () => ({ $replaceWith: { $literal: { _id: random.int(idMin, idMax), a: scalar(random) } } })],
      [1, () => ({ $replaceWith: { $mergeObjects: ['$$ROOT', { [random.pick(names)]: operand(random) }] } })],
      [1, () => ({ $project: { [random.pick(names)]: random.pick([0, 1]) } })],
    ]),
  );
}

function operand(random: Random): Json {
  return random.weighted<Json>([
    [3, () => ({ $literal: value(random) })],
    [2, () => `$${path(random)}`],
    [1, () => ({ $add: [`$${random.pick(names)}`, random.int(0, 3)] })],
    [1, () => ({ $ifNull: [`$${path(random)}`, random.int(0, 3)] })],
    [
      1,
      () => ({
        $setField: { field: random.pick<string>([...names, 'x.y']), input: '$$ROOT', value: random.int(0, 3) },
      }),
    ],
    [
      1,
      () => ({
        $concatArrays: [
          [random.int(0, 3)],
          { $cond: [{ $isArray: `$${random.pick(names)}` }, `$${random.pick(names)}`, []] },
        ],
      }),
    ],
    [1, () => '$$REMOVE'],
  ]);
}
