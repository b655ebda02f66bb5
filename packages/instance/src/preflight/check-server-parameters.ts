import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { MongoServerError, type Document } from 'mongodb';
import { nameSome } from '../catalog/name-some.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { notablescanOff } from '../cluster/failure.js';

/**
 * Checks parameters of servers that prevent a migration. `defaultMaxTimeMS` does not: every read states its own limit.
 * @returns the finding
 * @throws ConvoyError `serverParameterInTheWay` for `notablescan`: Convoy asks collections without conditions
 */
export async function checkServerParameters(clusters: readonly ClusterClient[], signal: AbortSignal): Promise<string> {
  const scanless = [];
  for (const cluster of clusters) {
    const { notablescan } = await ask(cluster, { getParameter: 1, notablescan: 1 }, signal);
    if (notablescan === true) scanless.push(cluster.name);
  }
  if (scanless.length === 0) return 'No known parameter of the servers is in the way.';
  throw new ConvoyError(
    'serverParameterInTheWay',
    `The parameter notablescan is on at ${nameSome(scanless)}: servers would refuse Convoy's queries. Set it to ` +
      `false on every member: ${notablescanOff}.`,
  );
}

/** The reply; empty where the server does not show the parameter, as a router does not show `notablescan`. */
async function ask(cluster: ClusterClient, command: Document, signal: AbortSignal): Promise<Document> {
  return cluster.router.command('admin', command, { signal }).catch((error: unknown) => {
    // Not every release gives a code to a parameter that it does not know.
    if (!(error instanceof MongoServerError)) throw error;
    return {};
  });
}
