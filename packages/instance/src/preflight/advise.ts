import type { StartRequest } from '@convoy/api/contract/start-request';
import type { Catalog } from '../catalog/namespace.js';
import { namespaceOf } from '../catalog/namespace.js';
import { readBalancer } from '../cluster/balancer.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { Advice } from './examination.js';
import { unmatchedParts, viewsWithoutSources } from './match-filter.js';
import { nameSome } from '../catalog/name-some.js';

/** Of what is to be migrated so many are named: enough to compare a filter's result with what was meant. */
const MATCHED_NAMED_MAX = 100;

/** What the filter has matched: the only way to notice a misspelt name before the data is missing. */
export function adviseMatched(catalog: Catalog, request: StartRequest): Advice {
  const filtered = request.includeNamespaces.length + request.excludeNamespaces.length > 0;
  const names = catalog.map(namespaceOf);
  if (filtered && names.length === 0) {
    return {
      result: 'warning',
      name: 'filterMatchesNothing',
      description: 'The filter matches no collection of the source; correct it, or nothing is migrated.',
    };
  }
  const unmatched = unmatchedParts(catalog, request);
  if (unmatched.length > 0) {
    return {
      result: 'warning',
      name: 'filterMatchesNothing',
      description: `These parts of includeNamespaces match nothing on the source that is not excluded: ${nameSome(unmatched)}; check their names.`,
    };
  }
  const blind = filtered ? viewsWithoutSources(catalog) : [];
  if (blind.length > 0) {
    return {
      result: 'warning',
      name: 'viewSourceLeftOut',
      description: `The filter leaves out what these views read: ${nameSome(blind)}. They are migrated and show nothing of it; include it too, or exclude the views.`,
    };
  }
  const views = catalog.filter(({ type }) => type === 'view').length;
  const databases = new Set(catalog.map(({ database }) => database)).size;
  const counted = `${names.length - views} collections and ${views} views in ${databases} databases`;
  return {
    result: 'passed',
    description:
      names.length === 0
        ? 'The source is empty.'
        : `To be migrated: ${counted}: ${nameSome(names, MATCHED_NAMED_MAX)}.`,
  };
}

/** Balancers are stopped by the start itself; that one is on is worth knowing because it takes until its round ends. */
export async function adviseBalancers(
  source: ClusterClient,
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<Advice> {
  const states = await Promise.all(
    [source, destination].map(async (cluster) => ({
      name: cluster.name,
      state: await readBalancer(cluster, { signal }),
    })),
  );
  const running = states.filter(({ state }) => state?.enabled === true || state?.busy === true);
  if (running.length === 0) return { result: 'passed', description: 'No balancer is running.' };
  const named = running
    .map(({ name, state }) => `${name} (${state?.busy === true ? 'moving chunks now' : 'at rest'})`)
    .join(', ');
  return {
    result: 'passed',
    description: `The balancers of ${named} are on; the start stops them, waits for their round to end, and the commit restores them.`,
  };
}

/** A server keeps `_id`s unique on each shard alone, unless the shard key is made of `_id`; finding equal ones takes a reading of everything. */
export function adviseEqualIds(catalog: Catalog): Advice {
  const open = catalog.filter(({ sharding }) => sharding !== null && [...sharding.key.keys()].join() !== '_id');
  if (open.length === 0)
    return { result: 'passed', description: 'Every sharded collection keeps its _ids unique over all shards.' };
  return {
    result: 'unchecked',
    description: `Not checked: the servers keep _ids unique on each shard alone for ${nameSome(open.map(namespaceOf))}. Equal ones are found during the copy and end the migration only if one destination shard would have to hold both.`,
  };
}
