import { setTimeout as delay } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { RedisServer } from '@convoy/testbed/redis/redis-server';
import type { Hold } from '../gate/command-gate.js';
import type { SentCommand } from '../gate/wire-messages.js';
import type { MonitoredFleet } from './monitored-fleet.js';

/** Ends a condition. */
type Undo = () => unknown;

/** What an operator must be alerted of, made on purpose. */
export interface Condition {
  readonly what: string;
  /** Alerts that it sets off; others may go with them. */
  readonly alerts: readonly string[];
  /** Its alerts stay until the next condition ends them, or for good. */
  readonly stays?: boolean;
  readonly make: (monitored: MonitoredFleet) => Promise<Undo> | Undo;
}

const readyWithin_ms = 180_000;
const retry_ms = 200;
/** Operations per second on the source. */
const writeRate = 200;
/** Documents of this size fill an oplog of a few megabytes in seconds. */
const filling = 'x'.repeat(50_000);
const filledDocuments = 20;

const systemDatabases: ReadonlySet<string> = new Set(['convoy_metadata', 'admin', 'config', 'local']);
const ofUsers =
  (...names: readonly string[]) =>
  ({ name, database }: SentCommand): boolean =>
    names.includes(name) && !systemDatabases.has(database);
const writes = ofUsers('insert', 'update', 'delete', 'bulkWrite');
const reads = ofUsers('find', 'aggregate');

/** In the order of a migration; the last one ends it. */
export const conditions: readonly Condition[] = [
  {
    what: 'the destination takes no insert of the copy',
    alerts: ['ConvoyCopyStalled'],
    make: async (monitored) => {
      const holds = monitored.gates.map((gate) => gate.hold(writes));
      await monitored.fleet.coordinator.client.start({ source: 'cluster0', destination: 'cluster1' });
      return async () => {
        release(holds);
        await untilReady(monitored);
      };
    },
  },
  {
    what: 'the destination has a foreign document, and does not take its removal',
    alerts: ['ConvoyMismatches'],
    make: async (monitored) => {
      const holds = monitored.gates.map((gate) => gate.hold(writes));
      await monitored.clients.destination.db('climate').collection('measurements').insertOne({ foreign: true });
      return async () => {
        release(holds);
        await untilReady(monitored);
        monitored.write(writeRate);
      };
    },
  },
  {
    what: 'the destination takes no writes of one instance',
    alerts: ['ConvoyLagGrows'],
    make: ({ gates }) => {
      const hold = gates[0]?.hold(writes);
      return () => hold?.release();
    },
  },
  {
    what: "the destination answers no read of one instance's verifier",
    alerts: ['ConvoyVerificationLags'],
    make: ({ gates }) => {
      const hold = gates[1]?.hold(reads);
      return () => hold?.release();
    },
  },
  {
    what: "one instance's connections break at every write",
    alerts: ['ConvoyRetrying'],
    make: ({ gates }) => {
      const hold = gates[0]?.hold(writes);
      return repeated(
        () => hold?.lose(),
        () => hold?.release(),
      );
    },
  },
  {
    what: 'one instance stands still',
    alerts: ['ConvoyTargetDown', 'ConvoyInstanceSilent'],
    make: ({ fleet }) => {
      fleet.instances[1]?.freeze();
      return () => fleet.instances[1]?.thaw();
    },
  },
  {
    what: 'Redis stands still',
    alerts: ['ConvoyNoLeader'],
    make: ({ fleet: { redis } }) => {
      if (!(redis instanceof RedisServer)) throw new Error('This needs a redis-server or valkey-server on the PATH.');
      redis.freeze();
      return () => {
        redis.thaw();
      };
    },
  },
  {
    what: 'the migration is paused, and users fill the oplogs',
    alerts: ['ConvoyOplogRunningOut'],
    stays: true,
    make: async (monitored) => {
      await untilReady(monitored);
      await monitored.fleet.coordinator.client.pause();
      return repeated(
        () => fill(monitored.clients.source),
        () => undefined,
      );
    },
  },
  {
    what: 'it is resumed although an oplog has dropped its changes',
    alerts: ['ConvoyFailed'],
    stays: true,
    make: async ({ fleet }) => {
      await fleet.coordinator.client.resume();
      return () => undefined;
    },
  },
];

async function untilReady({ fleet }: MonitoredFleet): Promise<void> {
  const { client } = fleet.coordinator;
  await pollUntil(
    'a commit would be accepted',
    readyWithin_ms,
    async () => (await client.progress()).progress.canCommit,
  );
}

function release(holds: readonly Hold[]): void {
  for (const hold of holds) hold.release();
}

function repeated(step: () => unknown, undo: Undo): Undo {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await step();
      await delay(retry_ms);
    }
  })();
  running.catch(() => undefined);
  return async () => {
    stopping.abort();
    await running;
    await undo();
  };
}

async function fill(client: MongoClient): Promise<void> {
  const operations = Array.from({ length: filledDocuments }, (_, id) => ({
    replaceOne: { filter: { _id: -id }, replacement: { filling }, upsert: true },
  }));
  await client.db('climate').collection<{ _id: number; filling: string }>('measurements').bulkWrite(operations);
}
