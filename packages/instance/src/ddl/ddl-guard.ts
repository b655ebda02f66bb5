import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CatalogChange } from '../catalog/compare-catalogs.js';
import { nameSome } from '../catalog/name-some.js';
import { namespaceOf } from '../catalog/namespace.js';

/**
 * Refuses what Convoy cannot replicate: chunks that have moved, another primary shard, another shard key.
 * @param changes of these kinds
 * @throws ConvoyError `chunkMigrationSeen`, `primaryShardChanged` or `shardKeyChanged`
 */
export function refuseCatalogChanges(changes: readonly CatalogChange[]): void {
  const first = changes[0];
  if (first === undefined) return;
  const named = nameSome(changes.map((change) => `${change.kind} ${namespaceOf(change.entry)}`));
  const found = `The source's catalog has changed since the start: ${named}.`;
  if (changes.some((change) => change.kind === 'chunksMoved')) {
    throw new ConvoyError('chunkMigrationSeen', `${found} Stop every balancer and start anew.`);
  }
  if (changes.some((change) => change.kind === 'primaryShard'))
    throw new ConvoyError('primaryShardChanged', `${found} Start anew.`);
  throw new ConvoyError('shardKeyChanged', `${found} Start anew.`);
}
