import { randomBytes } from 'node:crypto';
import { expectDone, expectRefused, expectSame } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import type { Scene } from '../framework/scene.js';
import type { Server } from '../framework/server.js';

const source = 'manual: setUserWriteBlockMode';
const blocked = 371;

/** Runs a call while the writes of users are blocked, and lets them go on however it ends. */
async function whileBlocked(scene: Scene, call: () => Promise<void>): Promise<void> {
  try {
    await scene.adminDone({ setUserWriteBlockMode: 1, global: true });
    await call();
  } finally {
    await scene.front.ask('admin', { setUserWriteBlockMode: 1, global: false });
  }
}

/** Somebody whom a block refuses: without access control everybody. */
async function user(scene: Scene): Promise<Server> {
  const [name, password] = [`probe_${randomBytes(4).toString('hex')}`, randomBytes(16).toString('hex')];
  const status = await scene.adminDone({ connectionStatus: 1 });
  if ((status['authInfo'] as { authenticatedUsers: unknown[] }).authenticatedUsers.length === 0) return scene.front;
  await scene.done({ createUser: name, pwd: password, roles: [{ role: 'readWriteAnyDatabase', db: 'admin' }, { role: 'dbAdminAnyDatabase', db: 'admin' }] });
  return scene.as({ user: name, password, authSource: scene.db });
}

/** What a block of users' writes refuses. */
export const writeBlocks: readonly Probe[] = [
  {
    name: 'block-refuses-writes',
    sentence: 'While the writes of users are blocked, their inserts, updates and deletes are refused with UserWritesBlocked (371), and taken again afterwards.',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'Writes of users may be lost around the commit.',
    async run(scene) {
      const [name, on] = [await scene.collection([{ _id: 1 }]), await user(scene)];
      await whileBlocked(scene, async () => {
        expectRefused('an insert', await scene.ask({ insert: name, documents: [{ _id: 2 }] }, on), blocked);
        expectRefused('an update', await scene.ask({ update: name, updates: [{ q: { _id: 1 }, u: { $set: { v: 1 } } }] }, on), blocked);
        expectRefused('a delete', await scene.ask({ delete: name, deletes: [{ q: { _id: 1 }, limit: 1 }] }, on), blocked);
      });
      expectDone('an insert afterwards', await scene.ask({ insert: name, documents: [{ _id: 2 }] }, on));
    },
  },
  {
    name: 'block-refuses-definitions',
    sentence: 'While the writes of users are blocked, their creates, drops, renames and indexes are refused with UserWritesBlocked (371).',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'Definition changes may be lost around the commit.',
    async run(scene) {
      const [name, on] = [await scene.collection([{ _id: 1 }]), await user(scene)];
      await whileBlocked(scene, async () => {
        expectRefused('a create', await scene.ask({ create: scene.newName() }, on), blocked);
        expectRefused('an index', await scene.ask({ createIndexes: name, indexes: [{ key: { a: 1 }, name: 'a_1' }] }, on), blocked);
        expectRefused('a rename', await scene.ask({ renameCollection: `${scene.db}.${name}`, to: `${scene.db}.${scene.newName()}` }, on, 'admin'), blocked);
        expectRefused('a drop', await scene.ask({ drop: name }, on), blocked);
      });
    },
  },
  {
    name: 'block-may-be-repeated',
    sentence: 'A block that stands may be set again, and one that does not may be taken away.',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'A commit that is resumed may fail.',
    async run(scene) {
      await whileBlocked(scene, async () => expectDone('the repeated block', await scene.ask({ setUserWriteBlockMode: 1, global: true }, scene.front, 'admin')));
      expectDone('the repeated release', await scene.ask({ setUserWriteBlockMode: 1, global: false }, scene.front, 'admin'));
    },
  },
  {
    name: 'block-lets-reads-through',
    sentence: 'While the writes of users are blocked, reads and streams go on.',
    from: [6, 0, 0],
    needs: ['disturbing'],
    source,
    otherwise: 'The last changes may not be read around the commit.',
    async run(scene) {
      const [name, on] = [await scene.collection([{ _id: 1 }]), await user(scene)];
      await whileBlocked(scene, async () => {
        expectDone('a find', await scene.ask({ find: name }, on));
        expectDone('a stream', await scene.ask({ aggregate: name, pipeline: [{ $changeStream: {} }], cursor: {} }, on));
      });
    },
  },
  {
    name: 'block-lets-the-privileged-through',
    sentence: 'A user with bypassWriteBlockingMode, as the role restore has it, goes on writing.',
    from: [6, 0, 0],
    needs: ['disturbing', 'users'],
    source,
    otherwise: 'Convoy may block its own writes.',
    async run(scene) {
      const name = await scene.collection([{ _id: 1 }]);
      const [login, password] = [`probe_${randomBytes(4).toString('hex')}`, randomBytes(16).toString('hex')];
      await scene.done({ createUser: login, pwd: password, roles: ['readWriteAnyDatabase', 'restore'].map((role) => ({ role, db: 'admin' })) });
      const on = scene.as({ user: login, password, authSource: scene.db });
      await whileBlocked(scene, async () => expectDone('an insert', await scene.ask({ insert: name, documents: [{ _id: 2 }] }, on)));
    },
  },
  {
    name: 'block-is-told',
    sentence: 'serverStatus of a shard tells by repl.userWriteBlockMode whether a block stands (2) or not (1).',
    from: [6, 0, 0],
    needs: ['direct', 'disturbing'],
    source: 'server tests: user_write_blocking',
    otherwise: 'A block that stands may be set again, which ends index builds.',
    async run(scene) {
      const mode = async (): Promise<unknown> => ((await scene.adminDone({ serverStatus: 1 }, scene.shard))['repl'] as Record<string, unknown>)['userWriteBlockMode'];
      expectSame('without a block', await mode(), 1);
      await whileBlocked(scene, async () => expectSame('with a block', await mode(), 2));
    },
  },
];
