import type { Document } from 'mongodb';
import { runDdl, type DdlAction } from './ddl-actions.js';
import { historySeries } from './series.js';
import { runSeriesAction, type SeriesAction } from './series-actions.js';
import { database } from './source-collections.js';
import { passOver, type User } from './user.js';
import { documentOf, idOf, keyOf, plainIdsFrom, updateOf } from './values.js';

/** Sessions of users in a history. */
export const sessionsMax = 4;

/** One write of a user. `id`, `k` and `n` are numbers that stand for an `_id`, a shard key value and a content. */
export interface WriteAction {
  readonly kind:
    'insert' | 'update' | 'updateMany' | 'replace' | 'delete' | 'deleteMany' | 'move' | 'findAndModify' | 'bulk';
  readonly collection: string;
  readonly id: number;
  readonly k: number;
  readonly n: number;
}

/** Several writes in one transaction, with time between them. */
export interface TransactionAction {
  readonly kind: 'transaction';
  readonly writes: readonly WriteAction[];
  readonly pause_ms: number;
  readonly commits: boolean;
}

/** Something that a session does at a time. */
export type Action = (WriteAction | TransactionAction | DdlAction | SeriesAction) & {
  readonly at_ms: number;
  readonly session: number;
};

/** Does what users do; what the server refuses is passed over. */
export class Actor {
  /**
   * @param distinctIds sessions have `_id`s of their own and use none twice at a time: where chunks move or the numbers
   * of shards differ, two documents of one `_id` can meet on a shard
   */
  constructor(
    private readonly session: User,
    private readonly place: number,
    private readonly distinctIds: boolean,
    private readonly sleep: (duration_ms: number) => Promise<void>,
  ) {}

  async act(action: WriteAction | TransactionAction | DdlAction | SeriesAction): Promise<void> {
    if ('series' in action) return runSeriesAction(action, historySeries, database, this.session).catch(passOver);
    if ('other' in action) return runDdl(action, this.session).catch(passOver);
    if (action.kind !== 'transaction') return this.#write(action).catch(passOver);
    this.session.begin();
    for (const each of action.writes) {
      await this.#write(each).catch(passOver);
      await this.sleep(action.pause_ms / action.writes.length);
    }
    await this.session.end(action.commits ? 'commitTransaction' : 'abortTransaction');
  }

  async #write(action: WriteAction): Promise<void> {
    if (!this.distinctIds) return write(action, this.session);
    const own = { ...action, id: ownId(action.id, this.place) };
    if (own.kind === 'insert' || own.kind === 'bulk' || own.kind === 'replace') {
      const filter = { _id: { $in: [0, 1, 2].map((step) => idOf(own.id + step)) } };
      const there = await this.session.documents(database, { find: own.collection, filter });
      if (there.length > 0) return;
    }
    return write(own, this.session);
  }
}

/** So far apart that a bulk write of one session does not meet another's. */
function ownId(id: number, place: number): number {
  return plainIdsFrom + (id * sessionsMax + place) * 3;
}

async function write(action: WriteAction, session: User): Promise<void> {
  const { collection, id, k, n } = action;
  const filter = { _id: idOf(id) };
  const updated = (u: unknown, more: Document = {}, q: Document = filter): Document => ({
    update: collection,
    updates: [{ q, u, ...more }],
  });
  switch (action.kind) {
    case 'insert':
      await session.command(database, { insert: collection, documents: [documentOf(id, k, n)] });
      return;
    case 'update':
      await session.command(database, updated(updateOf(n)));
      return;
    case 'updateMany':
      await session.command(database, updated(updateOf(n), { multi: true }, { k: keyOf(k) }));
      return;
    case 'replace':
      await session.command(
        database,
        updated(documentOf(id, k, n), { upsert: n % 2 === 0 }, { ...filter, k: keyOf(k) }),
      );
      return;
    case 'delete':
      await session.command(database, { delete: collection, deletes: [{ q: filter, limit: 1 }] });
      return;
    case 'deleteMany':
      await session.command(database, { delete: collection, deletes: [{ q: { k: keyOf(k), m: n % 7 }, limit: 0 }] });
      return;
    case 'move':
      await move(action, session);
      return;
    case 'findAndModify':
      await session.command(database, {
        findAndModify: collection,
        query: { ...filter, k: keyOf(k) },
        update: updateOf(n),
      });
      return;
    case 'bulk':
      await session.command(database, {
        insert: collection,
        documents: [0, 1, 2].map((step) => documentOf(id + step, k, n + step)),
        ordered: n % 2 === 0,
      });
      await session.command(database, {
        delete: collection,
        deletes: [0, 1].map((step) => ({ q: { _id: idOf(id + step) }, limit: 1 })),
        ordered: false,
      });
  }
}

/** Gives a document another shard key, and with it perhaps another shard. */
async function move({ collection, id, k, n }: WriteAction, session: User): Promise<void> {
  const [found] = await session.documents(database, { find: collection, filter: { _id: idOf(id) }, limit: 1 });
  if (found === undefined) return;
  const q = {
    _id: found['_id'] as unknown,
    k: found['k'] as unknown,
    m: found['m'] as unknown,
    u: found['u'] as unknown,
  };
  const $set = { k: keyOf(k), v: n };
  await session.retryable(database, { update: collection, updates: [{ q: withoutUndefined(q), u: { $set } }] });
}

function withoutUndefined(document: Document): Document {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
}
