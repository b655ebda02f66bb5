import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import { fields } from '../values.js';
import { oneDocument, operators, stages } from './statements.js';
import { documents, insert, keyFields, type Layout, layouts, storedFixture, storedReset } from './stored.js';

const db = 'diff_streams';
/** The document whose event ends the reading of a stream; on the first shard in every layout. */
const last = -100;

/** Change streams of a collection through the router and on its primary shard, over writes to single documents. */
export const streams: Family = {
  name: 'streams',
  fixture: storedFixture(db),
  reset: storedReset(db),
  commands(random) {
    const layout = random.pick(layouts.filter((each) => each !== 'hashed'));
    const on = random.pick(['router', 'shard0'] as const);
    const opened: Command = {
      on,
      db,
      command: { aggregate: layout, pipeline: [{ $changeStream: streamOptions(random) }], cursor: {} },
    };
    const written = random.list(3, 8, () => write(random, layout));
    const mark = insert(db, layout, [{ _id: last, k: 0 }]);
    // The router gives an event once the other shard has come as far.
    const noted = (['shard0', 'shard1'] as const).map((each) => note(each));
    const read: Command = {
      on,
      db,
      command: { getMore: { cursorOfStep: 2 }, collection: layout, maxTimeMS: 500 },
      until: last,
    };
    return [insert(db, layout, documents(random, layout, 3, 7)), opened, ...written, mark, ...noted, read];
  },
};

function note(on: Command['on']): Command {
  return { on, db: 'admin', command: { appendOplogNote: 1, data: {} } };
}

function streamOptions(random: Random): Record<string, Json> {
  return random.chance(0.3) ? { fullDocument: 'updateLookup' } : {};
}

function write(random: Random, layout: Layout): Command {
  const q = oneDocument(random, layout);
  const update = (u: Json, upsert = false): Command => ({
    on: 'router',
    db,
    command: { update: layout, updates: [{ q, u, upsert }] },
  });
  return random.weighted<Command>([
    [2, () => insert(db, layout, [{ ...q, ...keyFields(random, layout), ...fields(random) }])],
    [4, () => update(operators(random))],
    [2, () => update(stages(random))],
    [2, () => update({ ...q, ...fields(random) }, random.chance(0.3))],
    [2, () => ({ on: 'router', db, command: { delete: layout, deletes: [{ q, limit: 1 }] } })],
  ]);
}
