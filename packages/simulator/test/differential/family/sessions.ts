import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import type { Fields } from '../values.js';
import { dump, insert, keyFields, type Layout, storedFixture, storedReset } from './stored.js';

const db = 'diff_sessions';
const letters = ['A', 'B'] as const;
type Letter = (typeof letters)[number];

/** Transactions over both shards and writes that are sent again, of two sessions. */
export const sessions: Family = {
  name: 'sessions',
  fixture: [
    ...storedFixture(db),
    // Otherwise participants commit after the answer, and who reads next sees their writes or not, as it comes.
    ...(['shard0', 'shard1'] as const).map((on): Command => ({
      on,
      db: 'admin',
      command: { setParameter: 1, coordinateCommitReturnImmediatelyAfterPersistingDecision: false },
    })),
  ],
  reset: [{ on: 'router', db: 'admin', command: { killAllSessions: [] } }, ...storedReset(db)],
  commands(random) {
    const layout = random.weighted<Layout>([
      [2, () => 'ranged'],
      [1, () => 'plain'],
      [1, () => 'compound'],
    ]);
    const begun = insert(
      db,
      layout,
      [-3, -2, 2, 3].map((_id) => ({ _id, ...keyFields(random, layout), v: 0 })),
    );
    const playing = random.chance(0.65) ? new Transactions(random, layout) : new Repeated(random, layout);
    return [begun, ...playing.commands(), ...dump(db, layout)];
  },
};

function router(command: Fields): Command {
  return { on: 'router', db, command };
}

/** Documents on both shards, some of which are there. */
function query(random: Random, layout: Layout): Fields {
  return { _id: random.pick([-4, -3, -2, 1, 2, 3, 4]), ...keyFields(random, layout) };
}

function write(random: Random, layout: Layout): Fields {
  const q = query(random, layout);
  return random.weighted<Fields>([
    [2, () => ({ insert: layout, documents: random.list(1, 2, () => ({ ...query(random, layout), v: 9 })) })],
    [
      3,
      () => ({
        update: layout,
        updates: random.list(1, 2, () => ({
          q: query(random, layout),
          u: { $inc: { v: 1 } },
          upsert: random.chance(0.2),
        })),
        ordered: random.chance(0.7),
      }),
    ],
    [1, () => ({ update: layout, updates: [{ q, u: { $set: { v: 'x' }, $inc: { v: 1 } } }] })],
    [2, () => ({ delete: layout, deletes: [{ q, limit: 1 }] })],
    [
      1,
      () => ({
        findAndModify: layout,
        query: q,
        ...random.pick<Fields>([
          { remove: true },
          { update: { $inc: { v: 1 } }, new: true },
          { update: { $inc: { v: 1 } }, upsert: true },
        ]),
      }),
    ],
    [0.5, () => ({ update: layout, updates: [{ q: { v: 0 }, u: { $inc: { v: 1 } }, multi: true }] })],
    [0.5, () => ({ delete: layout, deletes: [{ q: { v: { $gt: 5 } }, limit: 0 }] })],
  ]);
}

function read(random: Random, layout: Layout): Fields {
  return random.weighted<Fields>([
    [3, () => ({ find: layout, filter: random.chance(0.5) ? {} : query(random, layout), sort: { _id: 1, k: 1 } })],
    [
      1,
      () => ({
        aggregate: layout,
        pipeline: [{ $match: { v: { $gte: 0 } } }, { $sort: { _id: 1, k: 1 } }],
        cursor: {},
      }),
    ],
    [0.5, () => ({ count: layout })],
    // Of several shards that refuse it in a transaction, each for another reason, the first to answer would give its
    // own.
    [0.5, () => ({ distinct: layout, key: 'v', query: query(random, layout) })],
  ]);
}

function long(value: number): Json {
  return { $numberLong: String(value) };
}

/**
 * Two sessions, each with one transaction after the other. Writes outside of transactions would wait for these: there
 * are none.
 */
class Transactions {
  readonly #numbers: Record<Letter, number> = { A: 0, B: 0 };
  readonly #open: Record<Letter, boolean> = { A: false, B: false };
  readonly #committed: Record<Letter, boolean> = { A: false, B: false };

  constructor(
    private readonly random: Random,
    private readonly layout: Layout,
  ) {}

  commands(): Command[] {
    const asked = this.random.list(6, 14, () => this.#command(this.random.chance(0.7) ? 'A' : 'B'));
    return [...asked, ...letters.filter((letter) => this.#open[letter]).map((letter) => this.#end(letter))];
  }

  #command(letter: Letter): Command {
    const { random, layout } = this;
    return random.weighted<Command>([
      [5, () => this.#statement(letter, this.#answeredByOne(letter, write(random, layout)))],
      [3, () => this.#statement(letter, this.#answeredByOne(letter, read(random, layout)))],
      [2, () => this.#end(letter, 'commitTransaction')],
      [1, () => this.#end(letter)],
      [1, () => router(read(random, layout))],
      [0.3, () => this.#commitMeanwhile(letter)],
    ]);
  }

  /** Statements go on after it under the same number. */
  #commitMeanwhile(letter: Letter): Command {
    this.#committed[letter] = true;
    return {
      on: 'router',
      db: 'admin',
      command: {
        commitTransaction: 1,
        lsid: { session: letter },
        txnNumber: long(this.#numbers[letter]),
        autocommit: false,
      },
    };
  }

  /**
   * Of shards of which one has committed and another one has begun anew, the first to answer would give its own reason.
   * So would those that conflict with the other session: the router may have aborted one of them already.
   */
  #answeredByOne(letter: Letter, asked: Fields): Fields {
    const { random, layout } = this;
    if (isForMany(asked) && letters.some((each) => this.#open[each])) return this.#forOne();
    if (!this.#open[letter] || !this.#committed[letter]) return asked;
    const isForSeveral = isForMany(asked) || 'find' in asked || 'aggregate' in asked;
    return isForSeveral ? { find: layout, filter: query(random, layout), sort: { _id: 1, k: 1 } } : asked;
  }

  #forOne(): Fields {
    const { random, layout } = this;
    return random.pick<Fields>([
      { update: layout, updates: [{ q: query(random, layout), u: { $inc: { v: 1 } } }] },
      { delete: layout, deletes: [{ q: query(random, layout), limit: 1 }] },
    ]);
  }

  #statement(letter: Letter, command: Fields): Command {
    const { random } = this;
    const starts = !this.#open[letter] || random.chance(0.05);
    if (!this.#open[letter]) {
      this.#numbers[letter] += 1;
      this.#committed[letter] = false;
    }
    this.#open[letter] = true;
    const concern =
      starts && random.chance(0.5) ? { readConcern: { level: random.pick(['snapshot', 'majority', 'local']) } } : {};
    const txnNumber = long(random.chance(0.03) ? this.#numbers[letter] - 1 : this.#numbers[letter]);
    // Of statements for several shards that go out at once, the first answer would decide which of them count.
    const inTurn = 'ordered' in command ? { ordered: true } : {};
    return router({
      ...command,
      ...inTurn,
      lsid: { session: letter },
      txnNumber,
      ...(starts && { startTransaction: true }),
      autocommit: false,
      ...concern,
    });
  }

  /**
   * What was committed is not aborted: a participant that has not heard of the decision yet would give its part up, or
   * not, as it comes.
   */
  #end(
    letter: Letter,
    name: 'commitTransaction' | 'abortTransaction' = this.#committed[letter] ? 'commitTransaction' : 'abortTransaction',
  ): Command {
    this.#open[letter] = false;
    this.#committed[letter] ||= name === 'commitTransaction';
    const majority = this.random.chance(0.5) ? { writeConcern: { w: 'majority' } } : {};
    return {
      on: 'router',
      db: 'admin',
      command: {
        [name]: 1,
        lsid: { session: letter },
        txnNumber: long(Math.max(1, this.#numbers[letter])),
        autocommit: false,
        ...majority,
      },
    };
  }
}

/** Writes that are sent again under the same number, or under an older one. */
class Repeated {
  readonly #sent: Fields[] = [];
  #number = 0;

  constructor(
    private readonly random: Random,
    private readonly layout: Layout,
  ) {}

  commands(): Command[] {
    return this.random.list(6, 14, () => this.#command());
  }

  #command(): Command {
    const { random, layout } = this;
    if (this.#sent.length > 0 && random.chance(0.4)) return router(random.pick(this.#sent));
    if (random.chance(0.2)) return router(read(random, layout));
    this.#number += 1;
    const asked = write(random, layout);
    const sent = {
      ...asked,
      lsid: { session: random.pick(letters) },
      txnNumber: long(random.chance(0.1) && !isForMany(asked) ? 1 : this.#number),
    };
    // Of the shards that know a newer number, the first to answer reports its own.
    if (!isForMany(sent)) this.#sent.push(sent);
    return router(sent);
  }
}

/** True for a statement that several shards are asked at once. */
function isForMany({ updates, deletes }: Fields): boolean {
  return JSON.stringify([updates, deletes]).match(/"multi":true|"limit":0/) !== null;
}
