import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { loginAs } from '@convoy/testbed/cluster/access-control';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { type Document, MongoClient } from 'mongodb';

const electedWithin_ms = 60_000;

/** Two sets of three members each. */
export const setsOfThree = { source: 'replicaSet', destination: 'replicaSet', members: 3 } as const;

/** The member of a shard that is primary, and the others. */
export async function membersNow(cluster: TestCluster, shard: string): Promise<{ primary: string; others: string[] }> {
  const hosts = cluster.members.get(shard) ?? [];
  await using client = new MongoClient(cluster.shardConnectionString(shard));
  const { primary } = (await client.db('admin').command({ hello: 1 })) as { primary: string };
  return { primary, others: hosts.filter((host) => host !== primary) };
}

/** Waits until a shard has another primary than the former one. */
export async function untilAnotherLeads(cluster: TestCluster, shard: string, former: string): Promise<void> {
  await pollUntil(`${shard} has another primary`, electedWithin_ms, async () => {
    try {
      return (await membersNow(cluster, shard)).primary !== former;
    } catch {
      return false;
    }
  });
}

/** The configuration of a replica set, as far as tests change it. */
interface SetConfig {
  version: number;
  members: { host: string }[];
  settings: Document;
}

/**
 * Changes the configuration of a replica set.
 * @param client of the set
 * @param change gives the fields that are to be others
 */
export async function reconfigure(client: MongoClient, change: (now: SetConfig) => Partial<SetConfig>): Promise<void> {
  const admin = client.db('admin');
  const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: SetConfig };
  await admin.command({ replSetReconfig: { ...config, ...change(config), version: config.version + 1 } });
}

/** Above what a busy machine needs for a heartbeat between two members. */
const election_ms = 10_000;

/**
 * Lets the members of a set wait longer for a sign of their primary: those that get nothing from it would elect another
 * one on a busy machine.
 */
export async function electOnlyWhenGone(client: MongoClient): Promise<void> {
  await reconfigure(client, ({ settings }) => ({ settings: { ...settings, electionTimeoutMillis: election_ms } }));
}

/**
 * Stops members that do not lead from taking writes over, or lets them go on.
 * @param withUsers whether the set asks for a login
 */
export async function holdReplication(
  hosts: readonly string[],
  mode: 'alwaysOn' | 'off',
  withUsers = false,
): Promise<void> {
  await Promise.all(hosts.map((host) => onMember(host, { configureFailPoint: 'stopReplProducer', mode }, withUsers)));
}

/** A member that waits for the others gives no answer to some commands. */
const answeredWithin_ms = 30_000;

/**
 * Runs a command on one member of a replica set, also while another one leads.
 * @param withUsers whether the set asks for a login
 */
export async function onMember(host: string, command: Document, withUsers = false): Promise<Document> {
  const text = `mongodb://${host}/?directConnection=true`;
  await using client = new MongoClient(withUsers ? loginAs(text, 'root') : text, {
    socketTimeoutMS: answeredWithin_ms,
  });
  return await client.db('admin').command(command);
}
