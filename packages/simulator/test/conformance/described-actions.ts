import { Binary, Int32, Long } from 'bson';
import { fromExtendedJson } from '../extended-json.js';
import type { Doc } from '../../src/bson/value.js';
import type { Json } from './corpus-file.js';
import type { WireClient } from './wire-client.js';

/** Something a note of the corpus stands for, done through the node that clients use. */
export type Action = (client: WireClient) => Promise<void>;

interface Statement {
  readonly db: string;
  readonly command: Json;
}

/** Numbers without a type are ints, as everywhere in the corpus. */
function command(json: Json): Doc {
  const typed = (value: Json): Json => {
    if (typeof value === 'number') return { $numberInt: String(value) };
    if (Array.isArray(value)) return value.map(typed);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, typed(inner)]));
  };
  return fromExtendedJson(typed(json)) as Doc;
}

function session(letter: string, txnNumber: number): Doc {
  const id = new Binary(Buffer.alloc(16, letter.charCodeAt(0)), Binary.SUBTYPE_UUID);
  return new Map([
    ['lsid', new Map([['id', id]])],
    ['txnNumber', Long.fromInt(txnNumber)],
  ] as [string, Doc | Long][]);
}

async function run(client: WireClient, statement: Statement, fields: Doc): Promise<void> {
  const reply = await client.run(statement.db, new Map([...command(statement.command), ...fields]));
  if (reply.has('errmsg')) throw new Error(JSON.stringify(reply.get('errmsg')));
}

function retryable(letter: string, statement: Statement): Action {
  return (client) => run(client, statement, session(letter, 1));
}

function transaction(
  letter: string,
  txnNumber: number,
  end: 'commitTransaction' | 'abortTransaction',
  statements: readonly Statement[],
): Action {
  return async (client) => {
    for (const [index, statement] of statements.entries()) {
      const fields = session(letter, txnNumber).set('autocommit', false);
      if (index === 0) fields.set('startTransaction', true);
      await run(client, statement, fields);
    }
    const ending = new Map<string, Int32>([[end, new Int32(1)]]) as Doc;
    await client.run('admin', new Map([...ending, ...session(letter, txnNumber).set('autocommit', false)]));
  };
}

const set = (db: string, coll: string, q: Json, fields: Json): Statement => ({
  db,
  command: { update: coll, updates: [{ q, u: { $set: fields } }] },
});
const insert = (db: string, coll: string, document: Json): Statement => ({
  db,
  command: { insert: coll, documents: [document] },
});
const remove = (db: string, coll: string, q: Json): Statement => ({
  db,
  command: { delete: coll, deletes: [{ q, limit: 1 }] },
});

/**
 * What happened at notes that stand for commands the corpus describes in words; reconstructed from the events that
 * followed.
 */
const actionsOf50: ReadonlyMap<string, Action> = new Map([
  ['04-events-documents:88', retryable('R', set('appdb', 'ev', { _id: 2, sk: 1 }, { sk: 5 }))],
  ['04-events-documents:94', retryable('S', set('appdb', 'ev', { _id: 2, sk: 5 }, { sk: -5 }))],
  [
    '04-events-documents:103',
    transaction('T', 1, 'commitTransaction', [set('appdb', 'ev', { _id: 2, sk: -5 }, { sk: 5 })]),
  ],
  [
    '04-events-documents:115',
    transaction('T', 2, 'commitTransaction', [
      insert('appdb', 'ev', { _id: 20, sk: -20 }),
      insert('appdb', 'ev', { _id: 21, sk: 20 }),
      set('appdb', 'plain', { _id: 1 }, { tx: 1 }),
    ]),
  ],
  ['04-events-documents:122', transaction('T', 3, 'abortTransaction', [insert('appdb', 'ev', { _id: 30, sk: -30 })])],
  ['04-events-documents:123', retryable('U', insert('appdb', 'ev', { _id: 40, sk: -40 }))],
  [
    '11-transactions:4',
    transaction('T', 1, 'commitTransaction', [
      insert('snapdb', 'c', { _id: 100, sk: -100 }),
      set('snapdb', 'c', { _id: 15, sk: 5 }, { tx: 1 }),
      remove('snapdb', 'c', { _id: 3, sk: -7 }),
    ]),
  ],
  ['11-transactions:11', transaction('T', 2, 'abortTransaction', [insert('snapdb', 'c', { _id: 101, sk: -101 })])],
  ['11-transactions:12', transaction('T', 3, 'commitTransaction', [set('snapdb', 'c', { _id: 7, sk: -3 }, { sk: 3 })])],
  [
    '11-transactions:14',
    transaction('T', 5, 'commitTransaction', [
      set('snapdb', 'c', { _id: 15, sk: 5 }, { a: 1 }),
      set('snapdb', 'c', { _id: 15, sk: 5 }, { a: 2 }),
      remove('snapdb', 'c', { _id: 15, sk: 5 }),
      insert('snapdb', 'c', { _id: 15, sk: 5, back: 1 }),
    ]),
  ],
  ['14-replica-set:37', transaction('T', 1, 'commitTransaction', [insert('moredb', 't', { _id: 1, y: 1 })])],
]);

/**
 * The notes of 8.0.10 with the same actions, by those of 5.0.7: their numbers differ, as streams were read more often.
 */
const notesOf80: readonly (readonly [of50: string, of80: string])[] = [
  ['04-events-documents:88', '8.0/04-events-documents:113'],
  ['04-events-documents:94', '8.0/04-events-documents:122'],
  ['04-events-documents:103', '8.0/04-events-documents:133'],
  ['04-events-documents:115', '8.0/04-events-documents:148'],
  ['04-events-documents:122', '8.0/04-events-documents:158'],
  ['04-events-documents:123', '8.0/04-events-documents:159'],
  ['11-transactions:4', '8.0/11-transactions:4'],
  ['11-transactions:11', '8.0/11-transactions:11'],
  ['11-transactions:12', '8.0/11-transactions:12'],
  ['11-transactions:14', '8.0/11-transactions:14'],
  ['14-replica-set:37', '8.0/14-replica-set:34'],
];

/** What happened at notes, by `file:line`. */
export const describedActions: ReadonlyMap<string, Action> = new Map([
  ...actionsOf50,
  [
    '8.0/11-transactions:13',
    transaction('T', 4, 'commitTransaction', [
      { db: 'snapdb', command: { create: 'made' } },
      insert('snapdb', 'made', { _id: 1 }),
    ]),
  ],
  ...notesOf80.flatMap(([of50, of80]): [string, Action][] => {
    const action = actionsOf50.get(of50);
    return action === undefined ? [] : [[of80, action]];
  }),
]);
