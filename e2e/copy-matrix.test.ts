import { expect, test } from 'vitest';
import { sampled } from '../test/seed.js';
import { Clusters, defaultStart, untilCanCommit } from './fleet.js';
import { changeKinds } from './kinds/change-kinds.js';
import { idsOfEveryType } from './kinds/id-values.js';
import { countOnShards, keyKinds, kindsDatabase, loadKinds } from './kinds/key-kinds.js';
import { RawConnection } from './kinds/raw-connection.js';
import { isFullRun, needs } from './requirements.js';

const accesses = sampled(['direct', 'router'] as const);
/** With many of each type partitions and batches end between values of all types. */
const copies = isFullRun ? 200 : 10;
const destinations = isFullRun ? [2, 3] : [2];
const combinations = destinations.flatMap((shards) => accesses.map((access) => [access, shards] as const));

test.each(combinations)(
  '_ids of every type under shard keys of every kind, with orphans: access %s, to %i shard(s) (servers from 5.0)',
  needs({ version: [5, 0] }),
  async (sourceAccess, shards) => {
    await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards } });
    // A balancer that was on runs again after the commit, and leaves orphans of its own.
    await clusters.clients.destination.db('admin').command({ balancerStop: 1 });
    const ids = idsOfEveryType(copies);
    await loadKinds(clusters.clients.source, clusters.source, ids);
    await using raw = await RawConnection.open(clusters.source.connectionString);
    for (const kind of keyKinds) await changeKinds(raw, kind, ids, 1);
    await using fleet = await clusters.startFleetHere({
      sourceAccess,
      partition_seconds: 1,
      ...(isFullRun && { loadRateBytesPerSecond: 2_000_000 }),
    });
    const { client } = fleet.coordinator;

    await client.start(defaultStart);
    for (const kind of keyKinds) await changeKinds(raw, kind, ids, 0);
    await untilCanCommit(client);
    for (const kind of keyKinds) await changeKinds(raw, kind, ids, 3);
    await clusters.commit(client);
    for (const { name } of keyKinds) {
      const count = await clusters.clients.source.db(kindsDatabase).collection(name).countDocuments();
      expect(count).toBeGreaterThan(ids.length / 2);
      if (name !== 'unsharded') expect(await countOnShards(clusters.source, name)).toBeGreaterThan(count);
      expect({ name, count: await countOnShards(clusters.destination, name) }).toEqual({ name, count });
    }
  },
);
