import type { Document } from 'mongodb';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { keepBuildsWarning, sourceBuilds, untilSourceHasBuilt } from '../../../../src/lifecycle/leader/builds.js';
import type { LeaderDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import { fakeCluster, FakeNodeClient, serverError } from '../../fake-node-client.js';
import { never } from '../../model/parts.js';
import { patience_ms } from '../../../../../../test/patience.js';
import { depsOf, syncingMigration } from './leader-fixture.js';

const build = { cluster: 'destination', database: 'shop', name: 'orders', indexes: ['a_1'] } as const;

/** A leader whose clock advances at every look, on a destination with these members. */
async function leaderWith(status: () => Document): Promise<LeaderDependencies> {
  const router = new FakeNodeClient('primary', { replSetGetStatus: status });
  const cluster = fakeCluster({ kind: 'replicaSet', router });
  const deps = await depsOf(await syncingMigration(['rs0']), { source: cluster, destination: cluster });
  let now_ms = 0;
  const clock = vi.spyOn(deps.runtime.clock, 'monotonic_ms').mockImplementation(() => (now_ms += 1_000));
  const sleep = vi
    .spyOn(deps.runtime.clock, 'sleep')
    .mockImplementation(() => new Promise((resolve) => void setImmediate(resolve)));
  onTestFinished(() => {
    clock.mockRestore();
    sleep.mockRestore();
  });
  return deps;
}

function warnings({ watch }: LeaderDependencies): string[] {
  return watch.view.record.warnings.map(({ description }) => description);
}

/** Does a leader's work while the warning is kept. */
async function whileWarned(deps: LeaderDependencies, work: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.all([keepBuildsWarning(deps, done.signal, never), work().finally(() => done.abort())]);
}

it.each(['syncing', 'committing'] as const)(
  'a build that lasts is named with the members that do not answer while the leader works (%s)',
  async (phase) => {
    const deps = await leaderWith(() => ({
      members: [
        { name: 'a:1', health: 1 },
        { name: 'b:1', health: 0 },
      ],
    }));
    await deps.records.updateAsLeader(deps.leaderEpoch, { phase }, never);
    const named = () =>
      vi.waitFor(() => expect(warnings(deps)).toEqual([expect.stringMatching(/a_1 of shop\.orders.*b:1\. A build/)]), {
        timeout: patience_ms(),
      });
    await whileWarned(deps, () => deps.builds.during(build, named));
    expect(warnings(deps)).toEqual([]);
  },
);

it('a build that ends while it is being named leaves no warning', async () => {
  const end = new AbortController();
  const ended = new Promise<void>((resolve) => {
    end.signal.addEventListener('abort', () => {
      resolve();
    });
  });
  const deps = await leaderWith(() => {
    end.abort();
    return { members: [] };
  });
  deps.builds.noteLooked();
  const recorded = vi.spyOn(deps.records, 'updateAsLeader');
  await whileWarned(deps, async () => {
    await deps.builds.during(build, () => ended);
    // The second takes the warning away.
    await vi.waitFor(() => expect(recorded).toHaveBeenCalledTimes(2), { timeout: 5_000 });
    expect(warnings(deps)).toEqual([]);
  });
});

it('a warning of an earlier leader stays until the catalogs have been compared', async () => {
  const deps = await leaderWith(() => {
    throw serverError(13, 'Unauthorized');
  });
  const earlier = [{ name: 'buildingIndexes', description: 'earlier' }];
  await deps.records.updateAsLeader(deps.leaderEpoch, { warnings: earlier }, never);
  await deps.watch.refresh(never);
  const work = async (): Promise<void> => {
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => void setImmediate(resolve));
    expect(warnings(deps)).toEqual(['earlier']);
    deps.builds.noteLooked();
    await vi.waitFor(() => expect(warnings(deps)).toEqual([]), { timeout: patience_ms() });
  };
  await whileWarned(deps, work);
});

it('a commit waits until the source has built an index, or given it up', async () => {
  const deps = await leaderWith(() => ({ members: [] }));
  const building: CatalogEntry = {
    ...{ database: 'shop', name: 'orders', type: 'collection', uuid: '0a', options: {}, indexes: [] },
    ...{ sharding: null, primaryShard: 'rs0', sizeBytes: 0, documentCount: 0 },
    buildingIndexes: [{ name: 'u_1' }],
  };
  const catalogs = [[building], [building], []];
  let reads = 0;
  const readSource = (): Promise<CatalogEntry[]> => {
    const catalog = catalogs[reads] ?? [];
    reads += 1;
    deps.builds.noteSource(sourceBuilds(catalog));
    return Promise.resolve(catalog);
  };
  await readSource();
  expect(deps.builds.isSourceBuilding).toBe(true);
  await untilSourceHasBuilt(deps, { readSource }, never);
  expect([reads, deps.builds.isSourceBuilding]).toEqual([3, false]);
});
