import { type AccessRealm, guardNode } from '../access/guard-node.js';
import type { ClusterShard } from '../config/cluster-shard.js';
import type { ShardingCatalog } from '../config/sharding-catalog.js';
import { NodeIdentity } from '../every-node/node-identity.js';
import { DateTime } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { doc } from '../node/doc-fields.js';
import type { Deployment } from '../node/deployment.js';
import { diagnosticHost } from '../every-node/platform.js';
import { RouterCursors } from '../router/read/router-cursors.js';
import { Router } from '../router/router.js';
import { RouterContext } from '../router/router-context.js';
import { RouterTransactions } from '../router/router-transactions.js';
import type { Balancer } from '../router/sharding/balancer.js';
import type { Migration } from '../router/sharding/chunk-migration.js';
import type { AvailableShards } from '../router/sharding/shard-commands.js';
import { ShardSender } from '../router/target/shard-sender.js';
import type { ServedNode } from '../wire/served-node.js';
import { RoutingTable } from '../router/target/routing-table.js';
import { WireServer } from '../wire/wire-server.js';
import { NodeControl } from './node-control.js';

/** What all routers of a cluster share. */
interface RouterSurroundings {
  readonly catalog: ShardingCatalog;
  readonly clock: ClusterClock;
  readonly configShard: ClusterShard;
  readonly balancer: Balancer;
  readonly migration: Migration;
  readonly available: AvailableShards;
  readonly deployment: Deployment;
  /** The users of the cluster. */
  readonly realm: AccessRealm;
}

/** A router that listens on its port. */
export class RouterMember {
  private constructor(
    readonly identity: NodeIdentity,
    readonly router: Router,
    readonly server: WireServer,
    /** Its faults. */
    readonly control: NodeControl,
  ) {}

  /** @param name by which faults name it */
  static async start(name: string, shared: RouterSurroundings, address: string, port: number): Promise<RouterMember> {
    const started: { router?: ServedNode } = {};
    const server = await WireServer.listen(address, port, () => started.router);
    const identity = new NodeIdentity(
      'router',
      address,
      server.port,
      '',
      shared.configShard.connectionString,
      shared.deployment,
    );
    const transactions = new RouterTransactions(shared.clock, identity.version);
    const sender = new ShardSender(shared.catalog, transactions);
    const context = new RouterContext(
      shared.catalog,
      shared.clock,
      sender,
      new RouterCursors(shared.deployment.version),
      transactions,
      shared.configShard,
      shared.deployment,
      identity.release,
      new RoutingTable(shared.catalog),
    );
    const router = new Router(identity, context, shared.balancer, shared.migration, shared.available);
    router.nodeCommands.parameters.onChange = (name, value) => {
      if (name === 'cursorTimeoutMillis') context.cursors.idleMsMax = value;
    };
    started.router = guardNode(router, shared.realm);
    await announce(shared.catalog, identity);
    const control = new NodeControl(name, identity, server, router.nodeCommands.failPoints, {
      end: () => {
        context.cursors.forget();
        context.transactions.forget();
        context.routing.clear();
      },
      begin: () => undefined,
      freeze: () => undefined,
      wake: () => undefined,
    });
    return new RouterMember(identity, router, server, control);
  }

  async close(): Promise<void> {
    await this.server.close();
  }
}

/** Lists the router in `config.mongos`. */
async function announce(catalog: ShardingCatalog, identity: NodeIdentity): Promise<void> {
  const now = new DateTime(BigInt(Date.now()));
  await catalog.store.put(
    'mongos',
    doc(
      ['_id', diagnosticHost(identity)],
      ['advisoryHostFQDNs', []],
      ['created', now],
      ['mongoVersion', identity.version.text],
      ['ping', now],
      ['waiting', true],
    ),
  );
}
