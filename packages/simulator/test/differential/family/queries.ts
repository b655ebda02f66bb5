import type { Json } from '../../conformance/corpus-file.js';
import type { Family } from '../case.js';
import type { Random } from '../random.js';
import type { Fields } from '../values.js';
import { filter, projection, searched, sort } from './filters.js';
import { askingAbout, type Layout } from './stored.js';

type Ask = (random: Random) => Fields;

/** A family of finds over documents of one collection of each case, most of them unsharded. */
function asking(name: string, ask: Ask): Family {
  const find = (random: Random, layout: Layout): Json => ({ find: layout, ...ask(random) });
  return askingAbout(name, {
    layouts: [
      [4, 'plain'],
      [1, 'ranged'],
      [1, 'compound'],
    ],
    documents: [4, 9],
    commands: [6, 12],
    make: searched,
    ask: find,
  });
}

const byId: Json = { _id: 1 };

/** Conditions of filters. */
export const filters = asking('filters', (random) => ({ filter: filter(random), sort: byId, projection: { _id: 1 } }));

/** Projections of finds. */
export const projections = asking('projections', (random) => ({
  ...(random.chance(0.2) && { filter: filter(random, 1) }),
  projection: projection(random),
  sort: byId,
}));

/** Orders of finds. */
export const sorts = asking('sorts', (random) => ({
  sort: sort(random),
  ...(random.chance(0.3) && { limit: random.int(1, 4) }),
  ...(random.chance(0.2) && { skip: random.int(0, 2) }),
}));
