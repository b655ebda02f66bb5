import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import type { MongoClient } from 'mongodb';
import type { Random } from '@convoy/cli/demo/random';
import { isFullRun } from './requirements.js';
import { RealUser } from './soak/real/real-user.js';
import { placeSeries, seriesNames, seriesOfSensors } from './soak/series.js';
import { type Measured, measurementOf, runSeriesAction, seriesActions } from './soak/series-actions.js';
import { passOver } from './soak/user.js';

/** One that is not sharded, and one with a part on each of two shards. */
const all = [seriesOfSensors('measured', null), seriesOfSensors('measuredApart', { sensor: 1 })];
/** Measurements of each before a migration begins, and what they are spread over. */
const loaded = { measurements: isFullRun ? 4_000 : 1_000, seconds: 100_000, sensors: 8 } as const;
const perInsert = 500;
/** Between two changes, with capacity left for the migration. */
const pause_ms = isFullRun ? 5 : 20;

/** Writes that continue during a migration. */
export interface RunningWorkload extends AsyncDisposable {
  /** Grows with every write. */
  readonly operations: number;
  stop(): Promise<void>;
}

/**
 * Makes time series in a database and loads them, where servers show changes of their buckets: from 6.0 on.
 * @returns their names; none on older servers
 */
export async function loadSeries(client: MongoClient, database: string): Promise<string[]> {
  const { version } = (await client.db('admin').command({ buildInfo: 1 })) as { version: string };
  if (Number.parseInt(version) < 6) return [];
  await using user = new RealUser(client);
  for (const series of all) {
    await placeSeries(series, database, user);
    for (let from = 0; from < loaded.measurements; from += perInsert) {
      const rows = Array.from({ length: perInsert }, (_, n) => measuredOf(from + n));
      await client.db(database).collection(series.name).insertMany(rows.map(measurementOf));
    }
  }
  return all.map(({ name }) => name);
}

function measuredOf(n: number): Measured {
  const second = Math.floor((n * loaded.seconds) / loaded.measurements);
  return { second, sensor: n % loaded.sensors, value: n % 20 };
}

/** Measurements into the series of a database, out of the order of time, deletes and other metadata, until it ends. */
class SeriesWorkload implements RunningWorkload {
  operations = 0;
  #stopping = false;
  readonly #running: Promise<void>;

  constructor(
    private readonly client: MongoClient,
    private readonly database: string,
    private readonly random: Random,
    private readonly withDefinitions: boolean,
  ) {
    this.#running = this.#run();
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    await this.#running.catch(() => undefined);
  }

  async #run(): Promise<void> {
    await using user = new RealUser(this.client);
    const names = await seriesNames(this.database, user);
    if (names.length === 0) return;
    const actions = seriesActions(names, this.withDefinitions);
    while (!this.#stopping) {
      const [action] = fc.sample(actions, { seed: this.random.below(2 ** 31), numRuns: 1 });
      if (action !== undefined) await runSeriesAction(action, all, this.database, user).catch(passOver);
      this.operations += 1;
      await delay(pause_ms);
    }
  }
}

/**
 * A workload with one of the time series that `loadSeries` has made, beside it.
 * @param withDefinitions whether the series' definitions change, too
 */
export function besideSeries(
  other: RunningWorkload,
  { client, database, random }: { client: MongoClient; database: string; random: Random },
  withDefinitions = false,
): RunningWorkload {
  const both = [other, new SeriesWorkload(client, database, random, withDefinitions)];
  return {
    get operations() {
      return both.reduce((sum, { operations }) => sum + operations, 0);
    },
    stop: async () => {
      await Promise.all(both.map((each) => each.stop()));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(both.map((each) => each[Symbol.asyncDispose]()));
    },
  };
}
