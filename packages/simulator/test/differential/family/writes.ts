import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import { fields, type Fields, scalar } from '../values.js';
import { operators, oneDocument, stages } from './statements.js';
import {
  documents,
  dump,
  idMax,
  idMin,
  insert,
  keyFields,
  type Layout,
  layouts,
  storedFixture,
  storedReset,
} from './stored.js';

type Statement = (random: Random, layout: Layout) => Command[];

/** A family of writes to one collection of each case, with a look at it in the end. */
function writing(name: string, statement: (db: string) => Statement): Family {
  const db = `diff_${name}`;
  const make = statement(db);
  return {
    name,
    fixture: storedFixture(db),
    reset: storedReset(db),
    commands(random) {
      const layout = random.pick(layouts);
      const written = random.list(4, 10, () => make(random, layout)).flat();
      return [insert(db, layout, documents(random, layout, 3, 7)), ...written, ...dump(db, layout)];
    },
  };
}

/** Whole documents, inserted, replaced and deleted, as the engine sends them. */
export const writes = writing('writes', (db) => (random, layout) => {
  const command = (fields: Json): Command[] => [{ on: 'router', db, command: fields }];
  return random.weighted<Command[]>([
    [3, () => [insert(db, layout, documents(random, layout, 1, 3))]],
    [
      1,
      () => [
        insert(db, layout, [
          { _id: random.pick<Json>([scalar(random), { $minKey: 1 }, { $maxKey: 1 }, [1], { a: 1 }]), k: 1 },
        ]),
      ],
    ],
    [1, () => command({ insert: layout, documents: documents(random, layout, 2, 4), ordered: false })],
    [
      3,
      () =>
        command({
          update: layout,
          updates: random.list(1, 3, () => replacement(random, layout)),
          ordered: random.chance(0.5),
        }),
    ],
    [
      3,
      () =>
        command({
          delete: layout,
          deletes: random.list(1, 3, () => deletion(random, layout)),
          ordered: random.chance(0.5),
        }),
    ],
    [
      1,
      () =>
        command({
          findAndModify: layout,
          query: oneDocument(random, layout),
          ...random.pick<Fields>([{ remove: true }, { update: { $set: { a: 1 } }, new: true }]),
        }),
    ],
  ]);
});

function replacement(random: Random, layout: Layout): Fields {
  const q = oneDocument(random, layout);
  const whole = {
    ...(random.chance(0.8) && { _id: q['_id'] ?? 0 }),
    ...keyFields(random, layout),
    ...(layout === 'compound' && { k: q['k'] ?? 0 }),
    ...fields(random),
  };
  return {
    q,
    u: random.chance(0.7) ? whole : [{ $replaceWith: { $literal: { _id: q['_id'] ?? 0, ...whole } } }],
    upsert: random.chance(0.4),
  };
}

function deletion(random: Random, layout: Layout): Fields {
  const q = random.chance(0.8)
    ? oneDocument(random, layout)
    : { _id: { $gte: random.int(idMin, idMax) }, a: scalar(random) };
  return { q, limit: q['_id'] !== null && typeof q['_id'] === 'object' ? 0 : random.pick([0, 1]) };
}

/** Updates by operators. */
export const updates = writing('updates', (db) => (random, layout) => [
  {
    on: 'router',
    db,
    command: {
      update: layout,
      updates: random.list(1, 2, () => ({
        q: oneDocument(random, layout),
        u: operators(random),
        upsert: random.chance(0.1),
      })),
      ordered: random.chance(0.7),
    },
  },
]);

/** Updates by pipelines. */
export const pipelineUpdates = writing('pipelines', (db) => (random, layout) => [
  {
    on: 'router',
    db,
    command: {
      update: layout,
      updates: random.list(1, 2, () => ({
        q: oneDocument(random, layout),
        u: stages(random),
        upsert: random.chance(0.1),
      })),
      ordered: random.chance(0.7),
    },
  },
]);
