import { type Document, Int32 } from 'mongodb';
import { codeIn, expectDone, expectRefused, expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import { numberOf, type NumberedSession } from '../framework/numbered-session.js';
import type { Probe } from '../framework/probe.js';
import type { Fixture } from '../framework/fixture.js';

const corpus = 'corpus 12-fencing';
const lost = 'A frozen process may still write after another one has taken over.';

/** Keys of a document on the first shard and of one on the other. */
const onBothShards = [
  { sk: -1, _id: 1 },
  { sk: 1, _id: 2 },
];

/** Increments the counters of documents. */
function count(name: string, ...queries: readonly Document[]): Document {
  const updates = (queries.length > 0 ? queries : [{ _id: 1 }]).map((q) => ({ q, u: { $inc: { n: 1 } } }));
  return { update: name, updates, ordered: false };
}

/** The replies to a write and to its repetition. */
async function twice(session: NumberedSession, command: Document): Promise<Document[]> {
  return [await session.write(command, numberOf(1, 1)), await session.write(command, numberOf(1, 1))];
}

async function counted(fixture: Fixture, name: string): Promise<unknown[]> {
  return valuesOf(await fixture.rows({ find: name, sort: { _id: 1 } }), 'n');
}

/** Effects of retryable write numbers. */
export const numberedWrites: readonly Probe[] = [
  {
    name: 'repeated-number-takes-effect-once',
    sentence: 'A bulk that is repeated under its number returns the same counts and changes nothing.',
    source: corpus,
    otherwise: 'A write whose answer was lost may take effect twice.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, n: 0 }]);
      const session = fixture.session();
      for (const reply of await twice(session, count(name)))
        expectSame('n and nModified', [reply.n, reply.nModified], [1, 1]);
      expectSame('the counter', await counted(fixture, name), [1]);
    },
  },
  {
    name: 'repeated-duplicates-are-reported-again',
    sentence: 'An insert that is repeated under its number reports the same duplicate keys.',
    source: corpus,
    otherwise: 'Convoy may forget to read a document again.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 2 }]);
      const session = fixture.session();
      const insert = { insert: name, documents: [1, 2, 3].map((_id) => ({ _id })), ordered: false };
      for (const reply of await twice(session, insert)) {
        expectSame(
          'n and the failed statements',
          [reply.n, (reply.writeErrors as { index: number }[] | undefined)?.map(({ index }) => index)],
          [2, [1]],
        );
      }
    },
  },
  {
    name: 'lower-number-is-refused',
    sentence:
      'After a write with a higher number, one with a lower number in the same session is refused with ' +
      'TransactionTooOld (225).',
    source: corpus,
    otherwise: lost,
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, n: 0 }]);
      const session = fixture.session();
      expectDone('the write with the higher number', await session.write(count(name), numberOf(2, 0)));
      expectRefused('the write with the lower number', await session.write(count(name), numberOf(1, 7)), 225);
      expectSame('the counter', await counted(fixture, name), [1]);
    },
  },
  {
    name: 'lower-number-is-refused-on-each-shard',
    sentence:
      'A router returns TransactionTooOld (225) for each shard that has seen the higher number, and executes the rest.',
    needs: ['twoShards'],
    source: corpus,
    otherwise: lost,
    async run(fixture) {
      const name = await fixture.split(onBothShards.map((key) => ({ ...key, n: 0 })));
      const session = fixture.session();
      expectDone(
        'the write with the higher number',
        await session.write(count(name, { sk: -1, _id: 1 }), numberOf(2, 0)),
      );
      const reply = await session.write(count(name, ...onBothShards), numberOf(1, 1));
      expectSame(
        'failed statements',
        (reply.writeErrors as { index: number; code: number }[] | undefined)?.map(({ index, code }) => [index, code]),
        [[0, 225]],
      );
      expectSame('the counter', await counted(fixture, name), [1, 1]);
    },
  },
  {
    name: 'one-write-fences-all-shards',
    sentence: 'One bulk that changes a document on each shard raises the number on all of them.',
    needs: ['twoShards'],
    source: corpus,
    otherwise: lost,
    async run(fixture) {
      const name = await fixture.split(onBothShards.map((key) => ({ ...key, n: 0 })));
      const session = fixture.session();
      expectDone(
        'the fence',
        await session.write({ ...count(name, ...onBothShards), writeConcern: { w: 'majority' } }, numberOf(2, 0)),
      );
      for (const q of onBothShards)
        expectRefused('the late write', await session.write(count(name, q), numberOf(1, 1)), 225);
    },
  },
  {
    name: 'fence-is-of-its-session',
    sentence: 'A higher number in one session refuses nothing in another.',
    source: corpus,
    otherwise: 'Instances may refuse each other.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, n: 0 }]);
      expectDone('the write with the higher number', await fixture.session().write(count(name), numberOf(9, 0)));
      expectDone('the write of another session', await fixture.session().write(count(name), numberOf(1, 0)));
    },
  },
  {
    name: 'fence-outlives-a-refresh',
    sentence: 'refreshSessions and killSessions do not reset a raised number.',
    source: corpus,
    otherwise: lost,
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, n: 0 }]);
      const session = fixture.session();
      expectDone('the write with the higher number', await session.write(count(name), numberOf(2, 0)));
      await fixture.done({ refreshSessions: [session.lsid] });
      await fixture.done({ killSessions: [session.lsid] });
      expectRefused('the write with the lower number', await session.write(count(name), numberOf(1, 0)), 225);
    },
  },
  {
    name: 'lost-record-is-reported',
    sentence:
      'A repeated statement whose record is incomplete, for example of one that moved its document, is refused ' +
      'with IncompleteTransactionHistory (217).',
    needs: ['twoShards'],
    source: 'measured on 5.0.7; server tests',
    otherwise: 'A write whose answer was lost may take effect twice.',
    async run(fixture) {
      const name = await fixture.split([{ _id: 1, sk: -1 }]);
      const session = fixture.session();
      const move = { update: name, updates: [{ q: { sk: -1, _id: 1 }, u: { $set: { sk: 1 } } }], ordered: false };
      // It may fail like other transactions: its number is used up anyway.
      await session.write(move, numberOf(1, 1));
      expectRefused('the repeated statement', await session.write(move, numberOf(1, 1)), 217);
    },
  },
  {
    name: 'numbers-have-64-bits',
    sentence: 'Numbers are 64-bit integers: epoch × 2^32 + n is accepted, and an int is refused (14).',
    source: corpus,
    otherwise: lost,
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, n: 0 }]);
      const session = fixture.session();
      expectDone('a number of epoch 2,000,000,000', await session.write(count(name), numberOf(2_000_000_000, 5)));
      expectRefused('one below it', await session.write(count(name), numberOf(2_000_000_000, 4)), 225);
      expectRefused('an int', await session.write({ ...count(name), txnNumber: new Int32(7) }), 14);
    },
  },
  {
    name: 'numbered-delete-of-many-is-refused',
    sentence: 'One numbered statement cannot delete several documents (72).',
    source: corpus,
    otherwise: 'Nothing is lost: Convoy deletes one document with each statement.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }]);
      const reply = await fixture.session().write({ delete: name, deletes: [{ q: {}, limit: 0 }] }, numberOf(1, 1));
      expectRefused('the delete of several', reply, 72);
      expectThat('nothing was deleted', (await counted(fixture, name)).length === 1, codeIn(reply));
    },
  },
];
