import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Document, MongoServerError } from 'mongodb';
import { nameSome } from '../catalog/name-some.js';
import { notablescanOff } from '../cluster/failure.js';
import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { type Advice, warning } from './examination.js';

/** What is asked, and where. */
interface ParametersCheck {
  source: ClusterClient;
  destination: ClusterClient;
  /** How long the copy reads at one time; default: that of the configuration. */
  partition_seconds?: number;
  signal: AbortSignal;
}

/** Default of `partition_seconds`. */
const partitionDefault_seconds = 20;

/** Times that a partition takes: the read at one time goes on until its last batch is there. */
const partitionsOfHistory = 2;

/**
 * Checks parameters of servers that prevent a migration. `defaultMaxTimeMS` does not: every read states its own limit.
 * Routers do not show `notablescan` of their shards, where it is in the way of nothing: all that Convoy asks of them
 * has an index.
 * @returns the finding; the warning `snapshotHistoryShort` where the source keeps less history than the copy needs
 * @throws ConvoyError `serverParameterInTheWay` for `notablescan`
 */
export async function checkServerParameters(check: ParametersCheck): Promise<Advice> {
  const { source, destination, signal } = check;
  const scanless = [];
  for (const { name, router } of [source, destination]) {
    const { notablescan } = await ask(router, { getParameter: 1, notablescan: 1 }, signal);
    if (notablescan === true) scanless.push(name);
  }
  if (scanless.length > 0)
    throw new ConvoyError(
      'serverParameterInTheWay',
      `The parameter notablescan is on at ${nameSome(scanless)}: servers would refuse Convoy's queries. Set it to ` +
        `false on every member: ${notablescanOff}.`,
    );
  return (await describeShortHistory(check)) ?? 'No known parameter of the servers is in the way.';
}

/** The copy reads each partition at one time. @returns null if no shard is known to keep too little history for that */
async function describeShortHistory({
  source,
  partition_seconds = partitionDefault_seconds,
  signal,
}: ParametersCheck): Promise<Advice | null> {
  if (source.access === 'router') return null;
  const wanted_seconds = partitionsOfHistory * partition_seconds;
  const found = await Promise.all(
    source.shardIds.map(async (id) => {
      const command = { getParameter: 1, minSnapshotHistoryWindowInSeconds: 1 };
      const window = (await ask(source.shard(id), command, signal)).minSnapshotHistoryWindowInSeconds as unknown;
      return typeof window === 'number' && window < wanted_seconds ? [`${id} ${window} s`] : [];
    }),
  );
  const short = found.flat();
  if (short.length === 0) return null;
  return warning(
    'snapshotHistoryShort',
    `The source keeps too little history for the copy, which reads at one time for ${partition_seconds} s: ` +
      `${nameSome(short)}. While there are writes, it may begin again and again. Raise it on every member of these ` +
      'shards: db.adminCommand({setParameter: 1, minSnapshotHistoryWindowInSeconds: 300}).',
  );
}

/** The reply; empty where the server does not show the parameter, or not to this user. */
async function ask(client: NodeClient, command: Document, signal: AbortSignal): Promise<Document> {
  return client.command('admin', command, { signal }).catch((error: unknown) => {
    // Not every release gives a code to a parameter that it does not know.
    if (!(error instanceof MongoServerError)) throw error;
    return {};
  });
}
