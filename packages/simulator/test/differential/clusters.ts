import { Int32 } from 'bson';
import { startTestCluster } from '../../../testbed/src/cluster/start-test-cluster.js';
import { ScratchFolder } from '../../../testbed/src/process/scratch-folder.js';
import { startWholeCluster } from '../../src/cluster/cluster.js';
import { type ReleaseSeries, ServerVersion } from '../../src/node/server-version.js';
import { clusterRoles } from '../conformance/cluster-stage.js';
import { logIn } from '../conformance/scram-login.js';
import { WireClient } from '../conformance/wire-client.js';
import type { Command } from './case.js';
import type { Nodes } from './side.js';

/** Idle streams of the simulator move on fast, so that they are not waited for. */
const noopIntervalMs = 20;

/** The password of every user of a family; `root` has that of the testbed's users. */
const password = 'PASSWORD';
const rootPassword = 'secret';

/** A simulated cluster of two shards, its balancer stopped. */
export async function openSimulated(version: ReleaseSeries, { access = false } = {}): Promise<Nodes> {
  const root = [{ user: 'root', password: rootPassword, roles: ['root'] }];
  const auth = access ? { auth: { users: root, shardUsers: root } } : {};
  const cluster = await startWholeCluster({
    shards: 2,
    routers: 2,
    noopIntervalMs,
    balancerRoundMs: 0,
    version,
    ...auth,
  });
  const [shard0 = '', shard1 = ''] = cluster.shards;
  const [router = '', router1 = ''] = cluster.routers;
  const hosts = { router, router1, shard0, shard1, config: cluster.config };
  return nodes(hosts, clusterRoles(cluster), () => cluster.close());
}

/** Real servers, and the release series that the simulator has to play. */
interface RealNodes extends Nodes {
  readonly release: ReleaseSeries;
}

/** The servers of MONGO_BIN as a cluster of two shards. */
export async function openReal({ access = false } = {}): Promise<RealNodes> {
  const folder = ScratchFolder.create('differential');
  const cluster = await startTestCluster({
    name: 'real',
    topology: { shards: 2 },
    routers: access ? 1 : 2,
    folder,
    withUsers: access,
  });
  const [shard0 = '', shard1 = ''] = cluster.shardIds.map((id) => hostsOf(cluster.shardConnectionString(id))[0] ?? '');
  const [router = '', router1 = router] = hostsOf(cluster.connectionString);
  const hosts = { router, router1, shard0, shard1, config: await configOf(router, access) };
  const roles = new Map(Object.entries(hosts).map(([role, host]) => [host, role]));
  const opened = await nodes(hosts, roles, async () => {
    await cluster.close();
    folder[Symbol.dispose]();
  });
  return { ...opened, release: ServerVersion.parse(cluster.version.slice(0, 2).join('.')).series };
}

type Hosts = Readonly<Record<Command['on'], string>>;

async function nodes(hosts: Hosts, roles: ReadonlyMap<string, string>, close: () => Promise<void>): Promise<Nodes> {
  const users = new Map<string, Promise<WireClient>>();
  const connected = await Promise.all(
    Object.entries(hosts).map(async ([name, host]) => [name, await WireClient.connect(host)] as const),
  );
  return {
    clients: Object.fromEntries(connected) as unknown as Record<Command['on'], WireClient>,
    roles,
    as: (who, on) => {
      const key = `${who} ${on}`;
      const known = users.get(key) ?? connectAs(who, hosts[on]);
      users.set(key, known);
      return known;
    },
    close: async () => {
      for (const client of await Promise.all(users.values())) client.close();
      for (const [, client] of connected) client.close();
      await close();
    },
  };
}

/** The address of the config server. */
async function configOf(router: string, access: boolean): Promise<string> {
  const client = access ? await connectAs('root', router) : await WireClient.connect(router);
  const { map } = Object.fromEntries(await client.run('admin', new Map([['getShardMap', new Int32(1)]])));
  client.close();
  return String((map as Map<string, string>).get('config')).replace(/^.*\//, '');
}

async function connectAs(who: string, host: string): Promise<WireClient> {
  const client = await WireClient.connect(host);
  await logIn(client, 'admin', who, who === 'root' ? rootPassword : password);
  return client;
}

/** The addresses of a connection string; several routers are several. */
function hostsOf(connectionString: string): string[] {
  return /^mongodb:\/\/(?:[^@/]*@)?([^/?]*)/.exec(connectionString)?.[1]?.split(',') ?? [];
}
