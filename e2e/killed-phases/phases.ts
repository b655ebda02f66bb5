import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Random } from '@convoy/cli/demo/random';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { Fleet } from '@convoy/cli/environment/fleet/start-fleet';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { DdlWorkload } from '../ddl-workload.js';
import { type Clusters, untilCanCommit, untilCommitted } from '../fleet.js';
import { MovingWorkload, movingDatabase as database } from '../killed-copy/moving-workload.js';
import { isFullRun } from '../requirements.js';
import { besideSeries, loadSeries, type RunningWorkload } from '../series-workload.js';

/** A usual run has one kill for each phase. */
const documents = isFullRun ? 8_000 : 3_000;
/**
 * Partitions are copied for seconds, and there are many of them: each kill finds one, however much was lost by the one
 * before, and however long a restart takes.
 */
const slowCopy = { partition_seconds: 3, loadRateBytesPerSecond: 125_000 };
/** Buffered events of an instance within seconds, even on a slow machine. */
const heldMax = 20;
/** Metrics are published this often: the instant lies anywhere in between. */
const published_ms = 250;
const phaseWithin_ms = 120_000;
/** As for all tests that wait until a commit would be accepted. */
const commitWithin_ms = 180_000;
/** Changes are slow enough for the leader to keep up. */
const ddlPause_ms = 50;
/** The leader's commands for a DDL change take so long that a kill meets the barrier. */
const slowDdl = {
  failCommands: ['create', 'drop', 'renameCollection', 'shardCollection'],
  blockConnection: true,
  blockTimeMS: 300,
};

/** A phase in which instances are killed. */
export interface Phase {
  readonly settings: Readonly<Record<string, unknown>>;
  /** Loads the source before the fleet starts. */
  readonly load: (clusters: Clusters) => Promise<void>;
  readonly work: (clusters: Clusters, random: Random) => RunningWorkload;
  /** Brings the migration to where the phase begins. */
  readonly reach: (clusters: Clusters, fleet: Fleet) => Promise<void>;
  /** Waits until instances are in the phase, and for an instant in it that the seed decides; says whom to kill. */
  readonly untilInstant: (clusters: Clusters, fleet: Fleet, random: Random) => Promise<readonly InstanceProcess[]>;
  /** Ends the writes and the migration, and expects equal clusters. */
  readonly finish: (clusters: Clusters, fleet: Fleet, workload: RunningWorkload) => Promise<void>;
}

/**
 * Ends the writes and the migration. A commit is asked for until it is taken: a lag near its limit, and a collection
 * that is found late, take canCommit back for a while.
 */
async function finish(clusters: Clusters, { instances, coordinator }: Fleet, workload: RunningWorkload): Promise<void> {
  await workload.stop();
  for (const { client } of instances)
    await pollUntil('the commit is accepted', commitWithin_ms, () => tryCommit(client));
  await untilCommitted(coordinator.client);
  await clusters.expectEqual();
}

/** Deletes, inserts of the same `_id`s and moves between shards, and measurements. */
const moving = {
  load: async ({ clients, source }: Clusters) => {
    await MovingWorkload.load(clients.source, source, documents);
    await loadSeries(clients.source, database);
  },
  work: ({ clients }: Clusters, random: Random) =>
    besideSeries(MovingWorkload.start(clients.source, documents, random), { client: clients.source, database, random }),
  finish,
};

/** All instances, or one of them. */
function pickVictims({ instances }: Fleet, random: Random): readonly InstanceProcess[] {
  return random.pick([instances, ...instances.map((instance) => [instance])]);
}

/**
 * An instant after a metric of every victim has reached a value below `limit`. Only instances in the phase are victims.
 */
function onceAbove(
  series: string,
  limit: number,
  isIn: (instance: InstanceProcess) => Promise<boolean>,
): Phase['untilInstant'] {
  return async (_clusters, fleet, random) => {
    const value = 1 + random.below(limit);
    const picked = pickVictims(fleet, random);
    const findVictims = async (): Promise<readonly InstanceProcess[] | false> => {
      const inside = await Promise.all(fleet.instances.map(isIn));
      const possible = fleet.instances.filter((_, index) => inside[index] === true);
      const pickedPossible = picked.filter((instance) => possible.includes(instance));
      const victims = pickedPossible.length > 0 ? pickedPossible : possible;
      const values = await Promise.all(victims.map((victim) => readMetric(victim, series)));
      return victims.length > 0 && values.every((one) => (one ?? 0) >= value) && victims;
    };
    const victims = await pollUntil(
      `${series} of ${picked.length} instances is at least ${value}`,
      phaseWithin_ms,
      findVictims,
    );
    await delay(random.below(published_ms));
    return victims;
  };
}

/**
 * Through a router an instance may have none of the collections, as they are dealt by their UUIDs: it copies and
 * applies nothing.
 */
async function hasPartitions(instance: InstanceProcess, states: readonly string[]): Promise<boolean> {
  const counts = await Promise.all(states.map((state) => readMetric(instance, `convoy_partitions{state="${state}"}`)));
  return counts.some((count) => (count ?? 0) > 0);
}

const copies = (instance: InstanceProcess): Promise<boolean> =>
  hasPartitions(instance, ['waiting', 'starting', 'copying']);
const applies = (instance: InstanceProcess): Promise<boolean> =>
  hasPartitions(instance, ['waiting', 'starting', 'copying', 'done']);

/** @returns false while the migration cannot be committed */
async function tryCommit(client: ContractClient): Promise<boolean> {
  try {
    await client.commit();
    return true;
  } catch (error) {
    if (error instanceof ConvoyError && error.error === 'cannotCommit') return false;
    throw error;
  }
}

/** The phases of a migration that have series of kills. */
export const phases = {
  /** Partitions are being copied, and events wait for them. */
  hold: {
    ...moving,
    settings: slowCopy,
    reach: () => Promise.resolve(),
    untilInstant: onceAbove('convoy_buffered_events', heldMax, copies),
  },
  /** The copy is done, and changes are applied. */
  apply: {
    ...moving,
    settings: {},
    reach: async (_clusters, fleet) => {
      for (const { client } of fleet.instances) await untilCanCommit(client);
    },
    untilInstant: onceAbove('convoy_applied_events_total', isFullRun ? 500 : 150, applies),
  },
  /** A DDL change is pending: instances suspend collections, acknowledge, or wait until the leader has applied it. */
  barrier: {
    settings: { catalogInterval_seconds: 1 },
    load: async ({ clients }) => {
      await clients.source.db('admin').command({ enableSharding: database });
      await loadSeries(clients.source, database);
    },
    work: ({ clients }, random) => {
      const changes = DdlWorkload.start(clients.source, random.below(2 ** 31), ddlPause_ms);
      return besideSeries(changes, { client: clients.source, database, random }, true);
    },
    reach: async ({ clients }) => {
      await clients.destination
        .db('admin')
        .command({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data: slowDdl });
    },
    untilInstant: async ({ clients }, fleet, random) => {
      const records = clients.destination.db('convoy_metadata').collection('migration');
      const undone = async (): Promise<boolean> =>
        (await records.countDocuments({ $expr: { $gt: ['$ddlChanges.known', '$ddlChanges.done'] } })) > 0;
      do {
        await expect.poll(undone, { timeout: phaseWithin_ms, interval: 25 }).toBe(true);
        await delay(random.below(slowDdl.blockTimeMS));
      } while (!(await undone()));
      return pickVictims(fleet, random);
    },
    finish: async (clusters, fleet, workload) => {
      await clusters.clients.destination.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' });
      await finish(clusters, fleet, workload);
    },
  },
} satisfies Record<string, Phase>;

/**
 * One metric of an instance as Prometheus would read it.
 * @param series name with its labels, for example `convoy_partitions{state="copying"}`
 * @returns undefined while the instance does not export it
 */
async function readMetric(instance: InstanceProcess, series: string): Promise<number | undefined> {
  const text = await (await fetch(`${instance.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}
