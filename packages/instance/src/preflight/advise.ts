import { bothNames } from '@convoy/api/contract/namespace-remap';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { type Catalog, namespaceOf } from '../catalog/namespace.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import { readBalancer } from '../cluster/balancer.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { type Advice, passed, unchecked, warning } from './examination.js';
import { blindViewsWarning, describeBlindViews, unmatchedParts, unmatchedRemaps } from './match-filter.js';
import { nameSome } from '../catalog/name-some.js';

/** Reports what the filter matched: the only way to notice a misspelt name before data is missing. */
export function adviseMatched(catalog: Catalog, request: StartRequest, remap: NamespaceRemap): Advice {
  const filtered = request.includeNamespaces.length + request.excludeNamespaces.length > 0;
  const names = catalog.map(namespaceOf);
  if (filtered && names.length === 0) {
    return warning(
      'filterMatchesNothing',
      'The filter matches no collection of the source, so nothing would be migrated. Correct the filter.',
    );
  }
  const unmatched = unmatchedParts(catalog, request.includeNamespaces);
  if (unmatched.length > 0) {
    return warning(
      'filterMatchesNothing',
      'These parts of includeNamespaces match nothing on the source that is not excluded: ' +
        `${nameSome(unmatched)}. Check their names.`,
    );
  }
  const unmoved = unmatchedRemaps(catalog, request);
  if (unmoved.length > 0) {
    return warning(
      'namespaceRemapMatchesNothing',
      `namespaceRemap names what is not migrated: ${nameSome(unmoved)}. Check these names.`,
    );
  }
  const unordered = unmatchedParts(catalog, request.copyInNaturalOrder ?? []);
  if (unordered.length > 0) {
    return warning(
      'copyInNaturalOrderMatchesNothing',
      `copyInNaturalOrder names what is not migrated: ${nameSome(unordered)}. Check these names.`,
    );
  }
  const blind = filtered ? describeBlindViews(catalog) : null;
  if (blind !== null) return warning(blindViewsWarning, blind);
  const views = catalog.filter(({ type }) => type === 'view').length;
  const databases = new Set(catalog.map(({ database }) => database)).size;
  const counted =
    `${counts(names.length - views, 'collection')} and ${counts(views, 'view')} ` +
    `in ${counts(databases, 'database')}`;
  const both = catalog.map((entry) => bothNames(namespaceOf(entry), namespaceOf(remap.toDestination(entry))));
  return names.length === 0 ? 'The source is empty.' : passed(`To be migrated: ${counted}: ${nameSome(both)}.`, both);
}

function counts(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The start stops the balancers that it does not keep; one that runs matters because the start waits for its round. */
export async function adviseBalancers(
  source: ClusterClient,
  destination: ClusterClient,
  { keepBalancer }: StartRequest,
  signal: AbortSignal,
): Promise<Advice> {
  const states = await Promise.all(
    (keepBalancer === true ? [destination] : [source, destination]).map(async (cluster) => ({
      name: cluster.name,
      state: await readBalancer(cluster, { signal }),
    })),
  );
  const running = states.filter(({ state }) => state?.enabled === true || state?.busy === true);
  if (running.length === 0) return 'No balancer is running.';
  const named = running
    .map(({ name, state }) => `${name} (${state?.busy === true ? 'migrating chunks now' : 'idle'})`)
    .join(', ');
  return (
    `The balancers of ${named} are on. The start stops them and waits for their round to end. The commit ` +
    'restores them.'
  );
}

/**
 * A server keeps `_id`s unique on each shard only, unless the shard key is made of `_id`. Only a full read finds
 * duplicates.
 */
export function adviseEqualIds(catalog: Catalog, destination: Pick<ClusterClient, 'kind'>): Advice {
  const open = catalog.filter(({ sharding }) => sharding !== null && [...sharding.key.keys()].join() !== '_id');
  if (open.length === 0) return 'Every sharded collection keeps its _ids unique over all shards.';
  return unchecked(
    `Not checked: the servers keep _ids unique on each shard only for ${nameSome(open.map(namespaceOf))}. ` +
      (destination.kind === 'replicaSet'
        ? 'A replica set cannot hold duplicates: the first one that is found ends the migration.'
        : 'The copy finds duplicates, and fails only if one destination shard would have to hold both.'),
  );
}
