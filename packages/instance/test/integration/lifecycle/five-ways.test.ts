import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { readText } from '../../../../../test/source-tree.js';
import { DriverNodeClient } from '../../../src/cluster/driver/driver-node-client.js';
import type { RawWrite } from '../../../src/cluster/node-client.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';

/** A call to a cluster, and the modules between it and the start of its loop, the innermost first. */
interface Call {
  readonly sent: Document;
  readonly modules: readonly string[];
}

const arrived_ms = 30_000;
const calls: Call[] = [];

/**
 * The words of the language, as the document calls them: they serve every way, and hand nothing on. The one retry
 * policy of a process lies around most calls.
 */
const words =
  /\/src\/(?:async\/|bson\/|cluster\/reads|cluster\/driver\/|store\/metadata|lifecycle\/migration\/runtime)/;

/** The modules of Convoy in a stack that goes through each `await`. */
function modulesOfStack(): string[] {
  const found = [...(new Error('here').stack ?? '').matchAll(/packages\/(\w+)\/(?:src|dist)\/([\w/-]+)\.[jt]s/g)];
  const paths = found
    .filter(([, name]) => name !== 'testbed')
    .map(([, name, path]) => `packages/${name}/src/${path}.ts`);
  return [...new Set(paths)].filter((path) => !words.test(path));
}

/** The modules that a way of the document links. */
function documented(title: string): string[] {
  const chapter =
    readText('docs/internals/2-five-ways.md')
      .split(/^## /m)
      .find((text) => text.startsWith(title)) ?? '';
  return [...chapter.matchAll(/\]\(\.\.\/\.\.\/(?<path>[^)#]+\.ts)\)/g)].map(({ groups }) => groups?.path ?? '');
}

/** Replaces a method of every client by one that notes what is sent. @returns what takes it back */
function noted(name: 'write' | 'openCursor' | 'command', sentAt: number): () => void {
  const before = Object.getOwnPropertyDescriptor(DriverNodeClient.prototype, name);
  const method: unknown = before?.value;
  if (before === undefined || !(method instanceof Function)) throw new Error(`No method ${name}`);
  const value = function (this: DriverNodeClient, ...given: readonly unknown[]): unknown {
    calls.push({ sent: given[sentAt] as Document, modules: modulesOfStack() });
    return Reflect.apply(method, this, given);
  };
  Object.defineProperty(DriverNodeClient.prototype, name, { ...before, value });
  return () => void Object.defineProperty(DriverNodeClient.prototype, name, before);
}

beforeEach(() => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  const restore = [noted('write', 0), noted('openCursor', 1), noted('command', 1)];
  return () => {
    Error.stackTraceLimit = stackTraceLimit;
    for (const each of restore) each();
  };
});

const opensStream = ({ sent, modules }: Call): boolean =>
  JSON.stringify(sent).includes('$changeStream') && modules.some((path) => path.endsWith('change-stream-reader.ts'));
const writes = (kind: RawWrite['kind']) => (call: Call) => call.sent.kind === kind && call.sent.collection === 'orders';
const updates = (collection: string, field: string) => (call: Call) =>
  call.sent.update === collection && JSON.stringify(call.sent).includes(`"${field}"`);

/** What is sent on each way. */
const sendings: readonly (readonly [string, readonly ((call: Call) => boolean)[]])[] = [
  ['A document in the copy', [({ sent }) => JSON.stringify(sent).includes('atClusterTime'), writes('insert')]],
  ['An update event', [opensStream, writes('update')]],
  ['createIndex on the source', [({ sent }) => sent.createIndexes === 'orders']],
  ['A commit', [updates('tasks', 'commitRequested'), updates('migration', 'commit')]],
];

it('a document, a change, an index and a commit go through no module that their ways do not name', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const orders = fixture.cluster0.client.db('shop').collection<{ _id: number; a: number }>('orders');
  await orders.insertOne({ _id: 1, a: 1 });
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await orders.updateOne({ _id: 1 }, { $set: { a: 2 } });
  await orders.createIndexes([{ key: { a: 1 }, name: 'a_1' }]);
  // A commit brings over what comes just before it, by a way of its own.
  const copied = fixture.cluster1.client.db('shop').collection('orders');
  await pollUntil('the index has arrived', arrived_ms, async () => copied.indexExists('a_1'));
  await instance.commitWhenOffered();

  for (const [title, each] of sendings) {
    const named = documented(title);
    for (const isSending of each) {
      const found = calls.filter(isSending);
      expect(found, `${title}: calls like ${String(isSending)}`).not.toEqual([]);
      expect(
        found.flatMap(({ modules }) => strayIn(modules, named)),
        title,
      ).toEqual([]);
    }
  }
});

/** Those that a way does not name, below the loop in which it begins. */
function strayIn(modules: readonly string[], named: readonly string[]): string[] {
  const begin = modules.findLastIndex((path) => named.includes(path));
  return modules.filter((path, index) => (begin === -1 || index < begin) && !named.includes(path));
}
