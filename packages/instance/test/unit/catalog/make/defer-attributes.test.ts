import { describe, expect, it } from 'vitest';
import { compareCatalogs } from '../../../../src/catalog/plan/compare-catalogs.js';
import { createCollections } from '../../../../src/catalog/make/create-collections.js';
import { deferAttributes } from '../../../../src/catalog/make/defer-attributes.js';
import { readCatalog } from '../../../../src/catalog/read/read-catalog.js';
import { restoreAttributes } from '../../../../src/catalog/make/restore-attributes.js';
import { everything, isChange, makePlan, pair, type Pair, untilDone } from '../catalog-pair.js';
import { noRemap } from '../../../../src/catalog/namespace-remap.js';

const { signal } = new AbortController();
const confirm = (): Promise<void> => Promise.resolve();
const form = { indexScope: 'all', remap: noRemap, destination: { kind: 'sharded', version: [6, 0, 0] } } as const;

type Plan = Awaited<ReturnType<typeof makePlan>>;

/** A destination after a commit. */
async function committed(): Promise<{ clusters: Pair } & Plan> {
  const clusters = pair(6);
  const planned = await makePlan(clusters);
  await createCollections({ destination: clusters.destination, signal, confirm }, planned.plan);
  await restoreAttributes({ destination: clusters.destination, signal, confirm }, planned.plan);
  return { clusters, ...planned };
}

/** Names of the indexes of a collection. */
function indexNames({ server }: Pair, collection: string): string[] {
  return (server.databases.get('app')?.collections.get(collection)?.indexes ?? [])
    .map((index) => String(index.name))
    .sort();
}

describe('deferAttributes', () => {
  it('converts every index from its final form to its temporary form, and restoring reverts that', async () => {
    const { clusters, catalog, plan } = await committed();
    await deferAttributes({ destination: clusters.destination, signal, confirm }, plan);
    expect(
      compareCatalogs(catalog, await readCatalog(clusters.destination, everything, signal), {
        ...form,
        form: 'temporary',
      }),
    ).toEqual([]);
    await restoreAttributes({ destination: clusters.destination, signal, confirm }, plan);
    expect(
      compareCatalogs(catalog, await readCatalog(clusters.destination, everything, signal), { ...form, form: 'final' }),
    ).toEqual([]);
  });

  it('never leaves a shard key without a supporting index, and leaves no extra index', async () => {
    const { clusters, plan } = await committed();
    const before = clusters.server.client.sent.length;
    await deferAttributes({ destination: clusters.destination, signal, confirm }, plan);
    const changes = clusters.server.client.sent.slice(before).map(({ command }) => command);
    const ofRanged = changes.filter((command) => [command.createIndexes, command.dropIndexes].includes('ranged'));
    const created = (index: unknown): unknown => (index as { name: string }[]).map(({ name }) => name);
    expect(
      ofRanged.map((command) =>
        command.createIndexes === undefined ? ['drop', command.index as unknown] : ['create', created(command.indexes)],
      ),
    ).toEqual([
      ['create', ['convoy_temporary_shard_key']],
      ['drop', 'longer'],
      ['create', ['longer']],
      ['drop', 'convoy_temporary_shard_key'],
    ]);
    expect(indexNames(clusters, 'ranged')).toEqual(['_id_', 'longer']);
    // A unique index on exactly the shard key must stay unchanged.
    expect(changes.filter((command) => [command.createIndexes, command.dropIndexes].includes('uniq'))).toEqual([]);
  });

  it('reaches the same result wherever the connection is lost, before or after the effect', async () => {
    const undisturbed = await committed();
    const before = undisturbed.clusters.server.client.sent.length;
    await deferAttributes({ destination: undisturbed.clusters.destination, signal, confirm }, undisturbed.plan);
    const commands = undisturbed.clusters.server.client.sent.length - before;
    expect(commands).toBeGreaterThan(15);
    for (let atCommand = 0; atCommand < commands; atCommand += 1) {
      for (const afterEffect of [false, true]) {
        const { clusters, plan } = await committed();
        clusters.server.failure = { atCommand, afterEffect };
        await untilDone(() => deferAttributes({ destination: clusters.destination, signal, confirm }, plan));
        expect(clusters.server.state(), `lost at command ${atCommand}, after its effect: ${afterEffect}`).toEqual(
          undisturbed.clusters.server.state(),
        );
      }
    }
  }, 60_000);

  it('confirms before every change, and changes nothing once refused', async () => {
    for (let allowed = 0; ; allowed += 1) {
      const { clusters, plan } = await committed();
      const before = clusters.server.client.sent.length;
      let asked = 0;
      const replaced = new Error('replaced');
      const confirmAllowed = (): Promise<void> => (++asked > allowed ? Promise.reject(replaced) : Promise.resolve());
      const making = { destination: clusters.destination, signal, confirm: confirmAllowed };
      const outcome = await deferAttributes(making, plan).catch((error: unknown) => error);
      const changes = clusters.server.client.sent.slice(before).filter(({ command }) => isChange(command));
      // Building a TTL index is one change in two commands: the second disables it.
      const switchedOff = changes.filter(
        (_, at) =>
          at > 0 && 'createIndexes' in (changes[at - 1]?.command ?? {}) && 'collMod' in (changes[at]?.command ?? {}),
      );
      expect(changes.length - switchedOff.length).toBeLessThanOrEqual(Math.min(asked, allowed));
      if (outcome === undefined) return;
      expect(outcome).toBe(replaced);
    }
  });
});
