import type { Document } from 'mongodb';
import type { CallOptions, ClusterClient } from './node-client.js';

/** How long a node may take to report its members. */
const report_ms = 2_000;

/**
 * The members of a cluster's sets that do not answer, `host:port`, of a sharded cluster with their set: a replica set's
 * as its primary sees them, a sharded cluster's as its router does (`connPoolStats`). Empty when nobody says.
 */
export async function membersAway({ kind, router }: ClusterClient, options: CallOptions): Promise<string[]> {
  const limited = { ...options, maxTime_ms: report_ms };
  try {
    return kind === 'replicaSet'
      ? awayFromPrimary(await router.command('admin', { replSetGetStatus: 1 }, limited))
      : awayFromRouter(await router.command('admin', { connPoolStats: 1 }, limited));
  } catch {
    // The user may not ask (`clusterMonitor` may), or the node itself does not answer: names only add to a warning.
    return [];
  }
}

/** A member as a router reports it. */
interface RouterMember {
  addr: string;
  ok: boolean;
  hidden: boolean;
}

function awayFromPrimary({ members = [] }: Document): string[] {
  return (members as { name: string; health: number }[]).filter(({ health }) => health === 0).map(({ name }) => name);
}

/** A router calls arbiters hidden; it does not know hidden members. */
function awayFromRouter({ replicaSets = {} }: Document): string[] {
  const sets = Object.entries(replicaSets as Record<string, { hosts?: RouterMember[] }>);
  return sets.flatMap(([set, { hosts = [] }]) =>
    hosts.filter(({ ok, hidden }) => !ok && !hidden).map(({ addr }) => `${addr} of ${set}`),
  );
}
