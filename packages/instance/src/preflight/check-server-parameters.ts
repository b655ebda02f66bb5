import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { MongoServerError, type Document } from 'mongodb';
import { nameSome } from '../catalog/name-some.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { isAtLeast, binaryVersion } from '../cluster/topology.js';
import { type Advice, warning } from './examination.js';

/** What the servers' parameters say; null where a server does not show one, as a router does not show `notablescan`. */
interface ServerParameters {
  /** Clusters with a limit of `defaultMaxTimeMS`, in ms. */
  limited: readonly { name: string; limit_ms: number }[];
}

/**
 * Checks parameters of servers that prevent or slow down a migration.
 * @throws ConvoyError `serverParameterInTheWay` for `notablescan`: Convoy asks collections without conditions
 */
export async function checkServerParameters(
  clusters: readonly ClusterClient[],
  signal: AbortSignal,
): Promise<ServerParameters> {
  const scanless = [];
  const limited = [];
  for (const cluster of clusters) {
    const { notablescan } = await ask(cluster, { getParameter: 1, notablescan: 1 }, signal);
    if (notablescan === true) scanless.push(cluster.name);
    if (!isAtLeast(binaryVersion(cluster), 8, 0)) continue;
    const reply = await ask(cluster, { getClusterParameter: 'defaultMaxTimeMS' }, signal);
    const [row] = (reply.clusterParameters as Document[] | undefined) ?? [];
    const limit_ms = Number(row?.readOperations ?? 0);
    if (limit_ms > 0) limited.push({ name: cluster.name, limit_ms });
  }
  if (scanless.length === 0) return { limited };
  throw new ConvoyError(
    'serverParameterInTheWay',
    `The parameter notablescan is on at ${nameSome(scanless)}: servers would refuse Convoy's queries. Set it to ` +
      'false on every member: db.adminCommand({setParameter: 1, notablescan: false}).',
  );
}

/** The finding about parameters that do not prevent a migration. */
export function describeServerParameters({ limited }: ServerParameters): Advice {
  if (limited.length === 0) return 'No known parameter of the servers is in the way.';
  const named = limited.map(({ name, limit_ms }) => `${name} (${limit_ms} ms)`);
  return warning(
    'readsLimited',
    `The cluster parameter defaultMaxTimeMS cuts off reads of ${nameSome(named)}. A read that needs longer, such as ` +
      'one with a documentFilter that matches little, never ends. Set readOperations to 0 for the time of the ' +
      'migration, or grant bypassDefaultMaxTimeMS.',
  );
}

/** The reply; empty where the server refuses to show it. */
async function ask(cluster: ClusterClient, command: Document, signal: AbortSignal): Promise<Document> {
  return cluster.router.command('admin', command, { signal }).catch((error: unknown) => {
    // Not every release gives a code to a parameter that it does not know.
    if (!(error instanceof MongoServerError)) throw error;
    return {};
  });
}
