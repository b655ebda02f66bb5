import { Binary } from 'bson';
import type { Doc } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { docOf, numberOf, textOrEmpty } from '../node/doc-fields.js';
import type { RouterContext } from './router-context.js';

const uuidMismatch = 361;

/** A shard knows only its own collections. The router asks the others which one has the UUID of the command. */
export async function withActualCollection(context: RouterContext, run: () => Promise<Doc>): Promise<Doc> {
  try {
    const reply = await run();
    const errors = reply.get('writeErrors');
    for (const error of Array.isArray(errors) ? errors : []) {
      const fields = docOf(error);
      if (fields !== undefined && numberOf(fields.get('code')) === uuidMismatch) fill(context, fields);
    }
    return reply;
  } catch (error) {
    if (error instanceof CommandError && error.code === uuidMismatch) fill(context, error.extra);
    throw error;
  }
}

function fill({ catalog }: RouterContext, fields: Doc): void {
  const meant = fields.get('collectionUUID');
  if (!(meant instanceof Binary) || fields.get('actualCollection') !== null) return;
  const db = textOrEmpty(fields.get('db'));
  const all = catalog.shards.flatMap(({ access }) => access.collectionsOf(db));
  const actual = all.find(({ uuid }) => uuid.toString('hex') === meant.toString('hex'));
  if (actual !== undefined) fields.set('actualCollection', actual.namespace.slice(db.length + 1));
}
