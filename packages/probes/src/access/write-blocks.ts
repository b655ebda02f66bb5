import { expectDone, expectRefused, expectSame } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import type { Fixture } from '../framework/fixture.js';
import type { Server } from '../framework/server.js';

const source = 'manual: setUserWriteBlockMode';
const blocked = 371;

/** Runs a call while the writes of users are blocked, and always lifts the block afterwards. */
async function whileBlocked(fixture: Fixture, call: () => Promise<void>): Promise<void> {
  try {
    await fixture.adminDone({ setUserWriteBlockMode: 1, global: true });
    await call();
  } finally {
    await fixture.front.ask('admin', { setUserWriteBlockMode: 1, global: false });
  }
}

/** A user whom a block refuses; without access control everybody. */
async function user(fixture: Fixture): Promise<Server> {
  const status = await fixture.adminDone({ connectionStatus: 1 });
  if ((status.authInfo as { authenticatedUsers: unknown[] }).authenticatedUsers.length === 0) return fixture.front;
  return fixture.as(['readWriteAnyDatabase', 'dbAdminAnyDatabase']);
}

/** What a block of user writes refuses. */
export const writeBlocks: readonly Probe[] = [
  {
    name: 'block-refuses-writes',
    sentence:
      'While the writes of users are blocked, their inserts, updates and deletes are refused with ' +
      'UserWritesBlocked (371). Afterwards they succeed again.',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'User writes may be lost around the commit.',
    async run(fixture) {
      const [name, on] = [await fixture.collection([{ _id: 1 }]), await user(fixture)];
      await whileBlocked(fixture, async () => {
        expectRefused('an insert', await fixture.ask({ insert: name, documents: [{ _id: 2 }] }, on), blocked);
        expectRefused(
          'an update',
          await fixture.ask({ update: name, updates: [{ q: { _id: 1 }, u: { $set: { v: 1 } } }] }, on),
          blocked,
        );
        expectRefused(
          'a delete',
          await fixture.ask({ delete: name, deletes: [{ q: { _id: 1 }, limit: 1 }] }, on),
          blocked,
        );
      });
      expectDone('an insert afterwards', await fixture.ask({ insert: name, documents: [{ _id: 2 }] }, on));
    },
  },
  {
    name: 'block-refuses-definitions',
    sentence:
      'While the writes of users are blocked, their creates, drops, renames and indexes are refused with ' +
      'UserWritesBlocked (371).',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'DDL changes may be lost around the commit.',
    async run(fixture) {
      const [name, on] = [await fixture.collection([{ _id: 1 }]), await user(fixture)];
      await whileBlocked(fixture, async () => {
        expectRefused('a create', await fixture.ask({ create: fixture.newName() }, on), blocked);
        expectRefused(
          'an index',
          await fixture.ask({ createIndexes: name, indexes: [{ key: { a: 1 }, name: 'a_1' }] }, on),
          blocked,
        );
        expectRefused(
          'a rename',
          await fixture.ask(
            { renameCollection: `${fixture.db}.${name}`, to: `${fixture.db}.${fixture.newName()}` },
            on,
            'admin',
          ),
          blocked,
        );
        expectRefused('a drop', await fixture.ask({ drop: name }, on), blocked);
      });
    },
  },
  {
    name: 'block-may-be-repeated',
    sentence: 'An active block may be set again, and a missing one may be lifted.',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'A resumed commit may fail.',
    async run(fixture) {
      await whileBlocked(fixture, async () =>
        expectDone(
          'the repeated block',
          await fixture.ask({ setUserWriteBlockMode: 1, global: true }, fixture.front, 'admin'),
        ),
      );
      expectDone(
        'the repeated release',
        await fixture.ask({ setUserWriteBlockMode: 1, global: false }, fixture.front, 'admin'),
      );
    },
  },
  {
    name: 'block-lets-reads-through',
    sentence: 'While the writes of users are blocked, reads and streams continue.',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'Convoy may miss the last changes around the commit.',
    async run(fixture) {
      const [name, on] = [await fixture.collection([{ _id: 1 }]), await user(fixture)];
      await whileBlocked(fixture, async () => {
        expectDone('a find', await fixture.ask({ find: name }, on));
        expectDone(
          'a stream',
          await fixture.ask({ aggregate: name, pipeline: [{ $changeStream: {} }], cursor: {} }, on),
        );
      });
    },
  },
  {
    name: 'block-lets-the-privileged-through',
    sentence: 'A user with bypassWriteBlockingMode, which the role restore has, can still write.',
    from: [6, 0, 0],
    needs: ['disturbing', 'users'],
    source,
    otherwise: 'Convoy may block its own writes.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }]);
      const on = await fixture.as(['readWriteAnyDatabase', 'restore']);
      await whileBlocked(fixture, async () =>
        expectDone('an insert', await fixture.ask({ insert: name, documents: [{ _id: 2 }] }, on)),
      );
    },
  },
  {
    name: 'block-is-stored',
    sentence:
      'A replica set stores an active block in config.user_writes_critical_sections, where a read at linearizable ' +
      'finds it.',
    from: [6, 0, 0],
    topology: 'replicaSet',
    needs: ['disturbing'],
    source: 'server source: user_writes_recoverable_critical_section_service',
    otherwise: 'An active block may be set again, which aborts index builds.',
    async run(fixture) {
      const find = { find: 'user_writes_critical_sections', readConcern: { level: 'linearizable' } };
      const blocks = async (): Promise<unknown[]> => {
        const { cursor } = await fixture.ask({ ...find, maxTimeMS: 30_000 }, fixture.front, 'config');
        const { firstBatch } = cursor as { firstBatch: Record<string, unknown>[] };
        return firstBatch.map(({ blockUserWrites }) => blockUserWrites);
      };
      expectSame('without a block', await blocks(), []);
      await whileBlocked(fixture, async () => expectSame('with a block', await blocks(), [true]));
      expectSame('after the block', await blocks(), []);
    },
  },
];
