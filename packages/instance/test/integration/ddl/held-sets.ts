import type { Progress } from '@convoy/api/contract/progress';
import type { ReleaseSeries } from '@convoy/simulator';
import type { Collection, MongoClient } from 'mongodb';
import { expect } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { indexStates } from './index-states.js';

/** A document of `shop.orders`. */
export interface Order {
  _id: number;
  a: number;
}

type Cluster = 'cluster0' | 'cluster1';

/** Two replica sets whose index builds can be held; two orders of the source have the same `a`. */
export class HeldSets implements AsyncDisposable {
  readonly source: Collection<Order>;
  readonly destination: Collection<Order>;

  private constructor(readonly fixture: Fixture) {
    this.source = ordersOf(fixture.cluster0.client);
    this.destination = ordersOf(fixture.cluster1.client);
  }

  static async open(release?: ReleaseSeries): Promise<HeldSets> {
    const releases = release === undefined ? {} : { cluster0: release, cluster1: release };
    const sets = new HeldSets(await Fixture.open('replicaSet', 'replicaSet', releases));
    await sets.source.insertMany([
      { _id: 1, a: 1 },
      { _id: 2, a: 1 },
    ]);
    return sets;
  }

  /** Stops index builds before their first document, or continues them. */
  async hold(cluster: Cluster, mode: 'alwaysOn' | 'off'): Promise<void> {
    const failPoint = { configureFailPoint: 'hangAfterInitializingIndexBuild', mode };
    await this.fixture[cluster].client.db('admin').command(failPoint);
  }

  /** The only member leads no more, and again soon. */
  async stepDown(cluster: Cluster): Promise<void> {
    await this.fixture[cluster].client
      .db('admin')
      .command({ replSetStepDown: 1, force: true })
      .catch(() => undefined);
  }

  /**
   * Begins a unique index over documents with the same key on the source: it cannot be finished.
   * @returns how the command ends
   */
  async beginUnique(): Promise<[Promise<unknown>]> {
    await this.hold('cluster0', 'alwaysOn');
    const ended = this.source.createIndex({ a: 1 }, { unique: true }, {}).catch((error: unknown) => error);
    await untilBuilding(this.source, 'a_1');
    return [ended];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cluster of ['cluster0', 'cluster1'] as const) await this.hold(cluster, 'off');
    await this.fixture.close();
  }
}

function ordersOf(client: MongoClient): Collection<Order> {
  return client.db('shop').collection<Order>('orders');
}

/** The names of a collection's finished indexes, or of those that it builds. */
export async function names(of: Collection<Order>, wanted: 'finished' | 'building'): Promise<string[]> {
  return Object.entries(await indexStates(of)).flatMap(([name, state]) => (state === wanted ? name : []));
}

export async function untilBuilding(of: Collection<Order>, name: string): Promise<void> {
  await expect.poll(() => names(of, 'building')).toContain(name);
}

/** The warning that names builds. */
export function warned({ warnings }: Progress): string | undefined {
  return warnings?.find(({ name }) => name === 'buildingIndexes')?.description;
}

/** Waits until the builds are named. No commit is offered then. */
export async function untilNamed(instance: ServedInstance): Promise<string | undefined> {
  const progress = await instance.until('the build is named', (one) => warned(one) !== undefined);
  expect(progress).toMatchObject({ canCommit: false });
  return warned(progress);
}
