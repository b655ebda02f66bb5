import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Collection, type MongoClient, MongoServerError, type Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { testSeed } from '../../test/seed.js';
import { needs } from '../requirements.js';
import type { PassedCommand } from '../gate/command-gate.js';
import { FaultyFleet } from './faulty-fleet.js';
import type { Member } from './member.js';
import { type LeaderFault, strikeLeaderIn } from './leader-faults.js';
import { knowsReplaced } from './leaders.js';
import { type FaultPhase, releasesOf, stepsOf } from './leader-steps.js';
import { reachPhase } from './reach-phase.js';
import { within_ms } from './step-hold.js';
import { hasWritten, isWrite } from './write-effects.js';

const testWithin_ms = 560_000;
/** A catalog that has not changed for so long, a few comparisons of catalogs, waits for something else. */
const settled_ms = 3_000;

/** Freezes the leader (SIGSTOP) until another leads and another process has its identity; then it continues. */
export class StalledLeaders {
  /** Commands that replaced processes have sent although they knew. */
  readonly #afterwards: (readonly PassedCommand[])[] = [];

  readonly fault: LeaderFault = {
    strike: (_fleet, { leader }) => {
      leader.process.freeze();
      return Promise.resolve();
    },
    bringBack: async (fleet, { leader, hold }, step, random) => {
      await fleet.succeed(leader);
      // Commands of others do not count for the frozen one.
      if (step.sender === 'others') hold.release();
      await this.#goOn(fleet, leader, random.pick(['first', 'last']), () => hold.release());
    },
  };

  /** Expects that nothing has been written by them since: what was on its way then was refused. */
  expectSilence(): void {
    expect(
      this.#afterwards
        .flat()
        .filter(hasWritten)
        .map(({ name, database, target }) => `${name} ${database} ${target}`),
    ).toEqual([]);
  }

  async #goOn(
    fleet: FaultyFleet,
    { process, gate }: Member,
    thaws: 'first' | 'last',
    release: () => void,
  ): Promise<void> {
    const { destination } = fleet.clusters.clients;
    const before = await settledCatalog(fleet);
    const late = gate.record(isWrite);
    if (thaws === 'last') release();
    process.thaw();
    await expect
      .poll(async () => knowsReplaced(process.logFile, await fleet.isOver()), {
        timeout: within_ms,
        message: 'the frozen process knows that it was replaced',
      })
      .toBe(true);
    if (thaws === 'first') release();
    this.#afterwards.push(gate.record(isWrite));
    await expect.poll(() => late.every(({ reply }) => reply !== undefined), { timeout: within_ms }).toBe(true);
    expect(late.filter(hasWritten)).toEqual([]);
    expect(await catalogOf(destination)).toEqual(before);
  }
}

/**
 * The destination's definitions once nothing is under way, or what is waits at a gate: in the next step of the list,
 * which is held already.
 */
async function settledCatalog(fleet: FaultyFleet): Promise<string[]> {
  const { source, destination } = fleet.clusters.clients;
  const begun = (await source.db('admin').command({ ping: 1 }))['$clusterTime'] as { clusterTime: Timestamp };
  const look = async (): Promise<Settling> => {
    const record = await destination.db('convoy_metadata').collection<Migration>('migration').findOne();
    const catalog = await catalogOf(destination);
    return {
      isIdle: record !== null && (fleet.held.length > 0 || hasNothingToDo(record, begun.clusterTime)),
      held: fleet.held,
      catalog,
    };
  };
  let last = await look();
  const settled = async (): Promise<boolean> => {
    await delay(settled_ms);
    const former = last;
    last = await look();
    return last.isIdle && isDeepStrictEqual(last, former);
  };
  await pollUntil('the definitions are settled', within_ms, settled).catch((error: unknown) => {
    throw new Error(`${String(error)} The gates hold: ${fleet.held.join(', ') || 'nothing'}.`);
  });
  return last.catalog;
}

/** Of the migration's record, what shows whether the leader has something to do. */
interface Migration {
  readonly phase: string;
  readonly ddlChanges: { readonly known: number; readonly done: number };
  readonly ddlWatermark: { readonly time: Timestamp } | null;
}

/**
 * Whether a leader changes no definitions by itself: in a commit it does, after slow checks; before it, once it has
 * read all changes of the source up to a time.
 */
function hasNothingToDo({ phase, ddlChanges, ddlWatermark }: Migration, time: Timestamp): boolean {
  if (phase === 'committed') return true;
  return phase === 'syncing' && ddlChanges.known <= ddlChanges.done && ddlWatermark?.time.greaterThan(time) === true;
}

interface Settling {
  readonly isIdle: boolean;
  readonly held: readonly string[];
  readonly catalog: string[];
}

/** A migration whose leader is frozen and replaced in each step of one phase. */
export function testStalledLeader(phase: FaultPhase): void {
  const { skip } = needs({ version: [5, 0], inFull: true });
  test.each(releasesOf(phase))(
    `the leader is frozen and replaced in each step of the phase "${phase}": seed ${testSeed}, %s (servers from 5.0)`,
    { skip, timeout: testWithin_ms },
    async (release) => {
      await using fleet = await FaultyFleet.start({}, release);
      const random = new Random(testSeed);
      const stalled = new StalledLeaders();
      const steps = stepsOf(phase, fleet.clusters.destination.version[0]);
      await reachPhase(fleet, phase, (begin) => strikeLeaderIn(fleet, stalled.fault, steps, random, begin));
      await fleet.expectEnd();
      stalled.expectSilence();
    },
  );
}

const systemDatabases = new Set(['admin', 'config', 'local', 'convoy_metadata']);

/**
 * All collections of users with their UUIDs, options and indexes, as text: two are the same when nothing was changed,
 * dropped or made. One that a leader drops meanwhile has no indexes, unlike any that stays.
 */
async function catalogOf(client: MongoClient): Promise<string[]> {
  const { databases } = await client.db('admin').admin().listDatabases();
  const rows: string[] = [];
  for (const { name: database } of databases.filter(({ name }) => !systemDatabases.has(name))) {
    for (const listed of await client.db(database).listCollections().toArray()) {
      const indexes = listed.type === 'collection' ? await indexesOf(client.db(database).collection(listed.name)) : [];
      rows.push(`${database}.${listed.name} ${JSON.stringify({ listed, indexes })}`);
    }
  }
  return rows.sort();
}

async function indexesOf(collection: Collection): Promise<readonly unknown[]> {
  return collection.indexes().catch((error: unknown) => {
    if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
    throw error;
  });
}

const namespaceNotFound = 26;
