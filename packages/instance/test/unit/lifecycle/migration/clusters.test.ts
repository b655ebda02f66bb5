import { type Document, ObjectId } from 'mongodb';
import { expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { systemClock } from '../../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import { openDestination, openSource, type SourceAccess } from '../../../../src/lifecycle/migration/clusters.js';
import { createRuntime } from '../../../../src/lifecycle/migration/runtime.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { batch, failure, type ReceivedCommand, ScriptedNode, success } from '../../cluster/scripted-node.js';

const { signal } = new AbortController();

interface Fixture extends AsyncDisposable {
  shard: ScriptedNode;
  open(sourceAccess: string, recorded: SourceAccess | null): Promise<SourceAccess>;
  /** How the instance reaches the destination with that setting. */
  openAsDestination(sourceAccess: string): Promise<SourceAccess>;
}

/** A router and one shard, which may refuse reads. */
async function fixture(readable: boolean): Promise<Fixture> {
  const shard = await ScriptedNode.start(
    ({ name }): Document =>
      readable && (name === 'aggregate' || name === 'find') ? batch(0n, []) : failure(13, 'Unauthorized'),
    { setName: 's0' },
  );
  const router = await ScriptedNode.start(({ name }: ReceivedCommand): Document => {
    if (name === 'buildInfo') return success({ versionArray: [5, 0, 7, 0] });
    if (name === 'find') return batch(0n, [{ _id: 1, clusterId: new ObjectId() }]);
    if (name === 'listShards') return success({ shards: [{ _id: 'shard0', host: `s0/${shard.host}` }] });
    return failure(59, 'CommandNotFound');
  });
  const runtimeOf = (sourceAccess: string) => {
    const config = parseInstanceConfig({
      flags: { cluster0: router.connectionString, cluster1: router.connectionString, sourceAccess },
    });
    return createRuntime(
      config,
      systemClock,
      createLogger({ verbosity: 'FATAL' }),
      new Metrics({ processMetrics: false }),
    );
  };
  return {
    shard,
    async open(sourceAccess, recorded) {
      const cluster = await openSource(runtimeOf(sourceAccess), 'cluster0', recorded, signal);
      await cluster.close();
      expect(cluster.taskClient('shard0') === cluster.router).toBe(cluster.access === 'router');
      const wasLeftToItself = sourceAccess === 'auto' && recorded === null;
      expect(cluster.directRefusal !== undefined).toBe(wasLeftToItself && cluster.access === 'router');
      return cluster.access;
    },
    async openAsDestination(sourceAccess) {
      const cluster = await openDestination(runtimeOf(sourceAccess), 'cluster1', signal);
      await cluster.close();
      return cluster.access;
    },
    async [Symbol.asyncDispose]() {
      await router[Symbol.asyncDispose]();
      await shard[Symbol.asyncDispose]();
    },
  };
}

async function errorOf(opening: Promise<unknown>): Promise<string> {
  const error: unknown = await opening.catch((thrown: unknown) => thrown);
  return error instanceof ConvoyError ? error.error : 'none';
}

test('with auto, a source is read directly where its shards allow it, and otherwise through the router', async () => {
  await using open = await fixture(true);
  expect(await open.open('auto', null)).toBe('direct');
  await using closed = await fixture(false);
  expect(await closed.open('auto', null)).toBe('router');
  expect(await errorOf(closed.open('direct', null))).toBe('shardsNotReachable');
});

test('only a router is used where that is configured', async () => {
  await using readable = await fixture(true);
  expect(await readable.open('router', null)).toBe('router');
  expect(await readable.openAsDestination('direct')).toBe('router');
  expect(readable.shard.received).toEqual([]);
});

test('a recorded migration keeps its access, even if another becomes possible or its own impossible', async () => {
  await using readable = await fixture(true);
  expect(await readable.open('auto', 'router')).toBe('router');
  await using closed = await fixture(false);
  expect(await errorOf(closed.open('auto', 'direct'))).toBe('shardsNotReachable');
});

test.each([
  ['direct', 'router'],
  ['router', 'direct'],
] as const)(
  'a configuration that forces %s is refused by a migration that reads by %s',
  async (configured, recorded) => {
    await using readable = await fixture(true);
    expect(await errorOf(readable.open(configured, recorded))).toBe('optionsDiffer');
    expect(readable.shard.received).toEqual([]);
    expect(await readable.open(recorded, recorded)).toBe(recorded);
  },
);
