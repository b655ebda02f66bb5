import type { Document } from 'mongodb';
import { expectDone, expectRefused, expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import { type Fixture, oneOnEachShard, timeOf } from '../framework/fixture.js';

const corpus = 'corpus 11-transactions';

async function ids(fixture: Fixture, name: string, more: Document = {}): Promise<unknown[]> {
  return valuesOf(await fixture.rows({ find: name, sort: { _id: 1 }, ...more }), '_id');
}

/** The label by which a client may repeat the whole transaction. */
function expectTransient({ errorLabels }: Document): void {
  const isTransient = (errorLabels as string[] | undefined)?.includes('TransientTransactionError') === true;
  expectThat('labelled TransientTransactionError', isTransient, errorLabels);
}

/** Effects and visibility of transactions. */
export const transactions: readonly Probe[] = [
  {
    name: 'transaction-is-all-or-nothing',
    sentence: "A transaction's writes are visible after its commit, and none of them after its abort.",
    source: corpus,
    otherwise: 'A re-read of several documents may stop halfway.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }]);
      for (const ends of ['abort', 'commit'] as const) {
        const session = fixture.session();
        expectDone('the delete', await session.begin({ delete: name, deletes: [{ q: { _id: 1 }, limit: 1 }] }));
        expectDone('the insert', await session.go({ insert: name, documents: [{ _id: 2 }] }));
        expectSame('what others see', await ids(fixture, name), [1]);
        expectDone(`the ${ends}`, await session[ends]());
      }
      expectSame('what is visible', await ids(fixture, name), [2]);
    },
  },
  {
    name: 'transaction-over-shards',
    sentence: 'A transaction over two shards is committed on both.',
    needs: ['twoShards'],
    source: corpus,
    otherwise: 'A re-read of several documents may stop halfway.',
    async run(fixture) {
      const name = await fixture.split();
      const session = fixture.session();
      expectDone('the insert', await session.begin({ insert: name, documents: oneOnEachShard }));
      const committed = await session.commit();
      expectDone('the commit', committed);
      // The reply comes once the commit is decided: a read after its time waits for the shards that have not executed
      // it.
      const readConcern = { level: 'majority', afterClusterTime: timeOf(committed) };
      expectSame('what is visible', await ids(fixture, name, { readConcern }), [1, 2]);
    },
  },
  {
    name: 'unknown-transaction',
    sentence:
      'A statement of a transaction that was not started is refused with NoSuchTransaction (251), labelled ' +
      'TransientTransactionError.',
    source: corpus,
    otherwise: 'A re-read may end the migration instead of being repeated.',
    async run(fixture) {
      const name = await fixture.collection();
      const reply = await fixture.session().go({ find: name });
      expectRefused('the statement', reply, 251);
      expectTransient(reply);
    },
  },
  {
    name: 'conflict-is-transient',
    sentence:
      'If two transactions write one document, the later is refused with WriteConflict (112), labelled ' +
      'TransientTransactionError.',
    source: corpus,
    otherwise: 'A re-read may end the migration instead of being repeated.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, v: 0 }]);
      const write = (v: number): Document => ({ update: name, updates: [{ q: { _id: 1 }, u: { $set: { v } } }] });
      const [session, later] = [fixture.session(), fixture.session()];
      expectDone('the first write', await session.begin(write(1)));
      const reply = await later.begin(write(2));
      expectRefused('the second write', reply, 112);
      expectTransient(reply);
      expectDone('the commit', await session.commit());
    },
  },
  {
    name: 'open-transactions-are-listed',
    sentence: '$currentOp with idleSessions lists an open transaction with its session and number, until it has ended.',
    source: 'manual: $currentOp',
    otherwise: 'Convoy may take the commit time while a transaction is still open.',
    async run(fixture) {
      const name = await fixture.collection();
      const session = fixture.session();
      const listed = async (): Promise<unknown[]> => {
        const pipeline = [
          { $currentOp: { allUsers: true, idleSessions: true } },
          { $match: { 'lsid.id': session.lsid.id as unknown, 'transaction.parameters.autocommit': false } },
          { $project: { transaction: { parameters: { txnNumber: 1 } } } },
        ];
        return (await fixture.rows({ aggregate: 1, pipeline, cursor: {} }, fixture.front, 'admin')).map(
          ({ transaction }) => (transaction as { parameters: { txnNumber: unknown } }).parameters.txnNumber,
        );
      };
      expectDone('the insert', await session.begin({ insert: name, documents: [{ _id: 1 }] }));
      expectSame('numbers while it is open', await listed(), [1]);
      expectDone('the commit', await session.commit());
      expectSame('numbers after the commit', await listed(), []);
    },
  },
  {
    name: 'collection-of-a-transaction',
    sentence: 'A collection that a transaction creates is not listed before the commit.',
    topology: 'replicaSet',
    source: 'measured on 5.0.7',
    otherwise: 'Convoy may copy a collection whose creation is rolled back.',
    async run(fixture) {
      const name = fixture.newName();
      const session = fixture.session();
      expectDone('the insert', await session.begin({ insert: name, documents: [{ _id: 1 }] }));
      expectSame('what is listed before the commit', await fixture.uuid(name), undefined);
      expectDone('the commit', await session.commit());
      expectThat('it is listed after the commit', (await fixture.uuid(name)) !== undefined, null);
    },
  },
];
