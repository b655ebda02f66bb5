import type { Timestamp } from 'bson';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import { startWholeReplicaSet } from '../../src/cluster/replica-set.js';
import type { Doc } from '../../src/bson/value.js';
import type { RecordedRelease, Step } from './corpus-file.js';
import { describedActions } from './described-actions.js';
import type { HostRoles } from './host-roles.js';
import type { Stage } from './stage.js';
import { WireClient } from './wire-client.js';

/** Idle streams move on fast, so that a replay need not wait for them. */
const noopIntervalMs = 20;
/** The plain set is asked for its last oplog entry, which no no-op may follow; its streams need none. */
const noNoops = 0;
/** The oplog's size in the recorded clusters (`--oplogSize 1024`), which nothing fills. */
const oplogBytesMax = 1024 * 1024 * 1024;

/** The name of the recorded plain replica set. */
const recordedSetName = 'plain';

/** Two shards behind one router, without access control. */
export async function openClusterStage(version: RecordedRelease = '5.0'): Promise<Stage> {
  const cluster = await startWholeCluster({ version, shards: 2, noopIntervalMs, oplogBytesMax, balancerRoundMs: 0 });
  const hosts = new Map([
    ['router', cluster.router],
    ...cluster.shards.map((host, index): [string, string] => [`shard${index}`, host]),
  ]);
  return NodeStage.open({
    hosts,
    first: 'router',
    roles: clusterRoles(cluster),
    clusterTime: () => cluster.catalog.clock.current(),
    close: () => cluster.close(),
  });
}

/** A plain replica set of one member. */
export async function openReplicaSetStage(version: RecordedRelease = '5.0'): Promise<Stage> {
  const set = await startWholeReplicaSet({ version, setName: recordedSetName, noopIntervalMs: noNoops });
  const hosts = new Map([['replicaset', set.host]]);
  return NodeStage.open({
    hosts,
    first: 'replicaset',
    roles: new Map([[set.host, 'member']]),
    clusterTime: () => set.member.shard.access.lastAppliedTime(),
    close: () => set.close(),
  });
}

/** The parts of a cluster's nodes by their addresses. */
export function clusterRoles(cluster: Cluster): HostRoles {
  const shards = cluster.shards.map((host, index): [string, string] => [host, `shard${index}`]);
  const routers = cluster.routers.map((host, index): [string, string] => [
    host,
    index === 0 ? 'router' : `router${index}`,
  ]);
  return new Map([...routers, [cluster.config, 'config'], ...shards]);
}

interface NodeStageOptions {
  /** Addresses by the names that the corpus gives the nodes. */
  readonly hosts: ReadonlyMap<string, string>;
  /** The node that clients use. */
  readonly first: string;
  readonly roles: HostRoles;
  readonly clusterTime: () => Timestamp;
  readonly close: () => Promise<void>;
}

/** A stage with one connection to each node, without users. */
class NodeStage implements Stage {
  private constructor(
    private readonly options: NodeStageOptions,
    private readonly clients: ReadonlyMap<string, WireClient>,
  ) {}

  static async open(options: NodeStageOptions): Promise<NodeStage> {
    const clients = new Map<string, WireClient>();
    for (const [name, host] of options.hosts) clients.set(name, await WireClient.connect(host));
    return new NodeStage(options, clients);
  }

  get roles(): HostRoles {
    return this.options.roles;
  }

  clusterTime(): Timestamp {
    return this.options.clusterTime();
  }

  send(step: Step, command: Doc): Promise<Doc> {
    return this.#client(step.on ?? '').run(step.db ?? 'admin', command);
  }

  act(step: Step): Promise<Doc> {
    return Promise.reject(new Error(`no such action: ${JSON.stringify(step.command)}`));
  }

  async actAtNote(file: string, line: number): Promise<void> {
    await describedActions.get(`${file}:${line}`)?.(this.#client(this.options.first));
  }

  async close(): Promise<void> {
    for (const client of this.clients.values()) client.close();
    await this.options.close();
  }

  #client(name: string): WireClient {
    const client = this.clients.get(name);
    if (client === undefined) throw new Error(`no such node: ${name}`);
    return client;
  }
}
