import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import { type Fields, names, scalar } from '../values.js';
import { documents, idMax, idMin, insert, type Layout, layouts, storedFixture, storedReset } from './stored.js';

const db = 'diff_reads';

/** Reads as the engine sends them: by ranges of `_id` and of shard keys, in batches, at a time, counted. */
export const reads: Family = {
  name: 'reads',
  fixture: storedFixture(db),
  reset: storedReset(db),
  commands(random) {
    const layout = random.pick(layouts);
    const commands: Command[] = [insert(db, layout, documents(random, layout, 3, 9, readFields))];
    if (random.chance(0.3) && layout !== 'compound')
      commands.push(insert(db, layout, [{ _id: random.pick<Json>([scalar(random), { $minKey: 1 }, { x: 1 }]) }]));
    for (let left = random.int(6, 12); left > 0; left -= 1) commands.push(...oneRead(random, layout, commands.length));
    return commands;
  },
};

function readFields(random: Random): Fields {
  return Object.fromEntries(random.some(names, random.int(0, 2)).map((name) => [name, scalar(random)]));
}

function oneRead(random: Random, layout: Layout, before: number): Command[] {
  return random.weighted<Command[]>([
    [6, () => batches(random, findById(random, layout), layout, before)],
    [2, () => batches(random, findByBounds(random, layout), layout, before)],
    [1, () => batches(random, sortedPipeline(random, layout), layout, before)],
    [1, () => [router({ count: layout, ...(random.chance(0.5) && { query: idRange(random) }) })]],
    [1, () => [router({ aggregate: layout, pipeline: [{ $match: idRange(random) }, { $count: 'n' }], cursor: {} })]],
    [1, () => [router({ distinct: layout, key: '_id', query: idRange(random) })].map(inAnyOrder)],
    [1, () => batches(random, snapshotFind(random, layout), layout, before)],
  ]);
}

function router(command: Json): Command {
  return { on: 'router', db, command };
}

function inAnyOrder(command: Command): Command {
  return { ...command, unordered: true };
}

function id(random: Random): Json {
  return random.weighted<Json>([
    [8, () => random.int(idMin - 1, idMax + 1)],
    [1, () => ({ $minKey: 1 })],
    [1, () => ({ $maxKey: 1 })],
    [2, () => scalar(random)],
  ]);
}

function idRange(random: Random): Fields {
  return random.weighted<Fields>([
    [2, () => ({})],
    [2, () => ({ _id: { $gte: id(random) } })],
    [2, () => ({ _id: { $gte: id(random), $lt: id(random) } })],
    [1, () => ({ _id: { $gt: id(random), $lte: id(random) } })],
    [1, () => ({ _id: id(random) })],
    [1, () => ({ _id: { $in: random.list(0, 3, () => id(random)) } })],
    [1, () => ({ $or: [{ _id: id(random) }, { _id: { $lt: id(random) } }] })],
    [1, () => ({ [random.pick(names)]: scalar(random) })],
  ]);
}

function findById(random: Random, layout: Layout): Fields {
  return {
    find: layout,
    filter: idRange(random),
    sort: random.pick<Fields>([{ _id: 1 }, { _id: 1 }, { _id: -1 }, { a: 1, _id: 1 }, { b: -1, _id: 1 }]),
    ...(random.chance(0.2) && { projection: random.pick<Fields>([{ _id: 1 }, { a: 1 }, { _id: 0, b: 1 }, { a: 0 }]) }),
    ...(random.chance(0.2) && { skip: random.int(0, 3) }),
    ...(random.chance(0.2) && { limit: random.int(0, 4) }),
  };
}

function findByBounds(random: Random, layout: Layout): Fields {
  const hint: Fields = layout === 'compound' && random.chance(0.5) ? { k: 1, _id: 1 } : { _id: 1 };
  const bound = (): Fields =>
    Object.fromEntries(Object.keys(hint).map((name) => [name, name === 'k' ? random.int(0, 3) : id(random)]));
  return {
    find: layout,
    filter: random.chance(0.8) ? {} : idRange(random),
    hint,
    ...(random.chance(0.7) && { min: bound() }),
    ...(random.chance(0.6) && { max: bound() }),
    ...(random.chance(0.5) && { sort: hint }),
  };
}

function sortedPipeline(random: Random, layout: Layout): Fields {
  return {
    aggregate: layout,
    pipeline: [{ $match: idRange(random) }, { $sort: { _id: random.pick([1, -1]) } }, { $limit: random.int(1, 8) }],
    cursor: {},
  };
}

/**
 * At the time of the first command, which writes on all shards: one that fails has the time of the shards it asked, no
 * time of all.
 */
function snapshotFind(random: Random, layout: Layout): Fields {
  const atClusterTime = { operationTimeOfStep: 1 };
  return { find: layout, filter: idRange(random), sort: { _id: 1 }, readConcern: { level: 'snapshot', atClusterTime } };
}

/** A read and, where it is read in batches, those that follow. */
function batches(random: Random, read: Fields, layout: Layout, before: number): Command[] {
  const sorted = read['sort'] !== undefined || read['aggregate'] !== undefined;
  const inOrder = (command: Command): Command => (sorted ? command : inAnyOrder(command));
  if (!sorted && layout !== 'plain') return [inAnyOrder(router(read))];
  if (random.chance(0.5)) return [inOrder(router(read))];
  const batchSize = random.int(0, 4);
  const first =
    read['aggregate'] === undefined
      ? { ...read, batchSize, ...(random.chance(0.2) && { singleBatch: true }) }
      : { ...read, cursor: { batchSize } };
  const rest = { getMore: { cursorOfStep: before + 1 }, collection: layout };
  return [
    inOrder(router(first)),
    ...random.list(1, 3, () => inOrder(router(random.chance(0.6) ? { ...rest, batchSize: random.int(1, 3) } : rest))),
  ];
}
