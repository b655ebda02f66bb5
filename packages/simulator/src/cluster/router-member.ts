import type { ClusterShard } from '../config/cluster-shard.js';
import type { ShardingCatalog } from '../config/sharding-catalog.js';
import { NodeIdentity } from '../handshake/node-identity.js';
import { DateTime } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { doc } from '../node/doc-fields.js';
import type { Deployment } from '../node/deployment.js';
import { diagnosticHost } from '../handshake/host-info.js';
import { RouterCursors } from '../router/read/router-cursors.js';
import { Router } from '../router/router.js';
import { RouterContext } from '../router/router-context.js';
import { RouterTransactions } from '../router/router-transactions.js';
import type { Balancer } from '../router/sharding/balancer-commands.js';
import type { Migration } from '../router/sharding/chunk-commands.js';
import { ShardSender } from '../router/target/shard-sender.js';
import { WireServer } from '../wire/wire-server.js';

/** What all routers of a cluster share. */
export interface RouterSurroundings {
  readonly catalog: ShardingCatalog;
  readonly clock: ClusterClock;
  readonly configShard: ClusterShard;
  readonly balancer: Balancer;
  readonly migration: Migration;
  readonly deployment: Deployment;
}

/** A router that listens on its port. */
export class RouterMember {
  private constructor(
    readonly identity: NodeIdentity,
    readonly router: Router,
    readonly server: WireServer,
  ) {}

  static async start(shared: RouterSurroundings, address: string, port: number): Promise<RouterMember> {
    const started: { router?: Router } = {};
    const server = await WireServer.listen(address, port, () => {
      if (started.router === undefined) throw new Error('a connection came before the router was ready');
      return started.router;
    });
    const identity = new NodeIdentity('router', address, server.port, '', shared.configShard.connectionString, shared.deployment);
    const transactions = new RouterTransactions();
    const sender = new ShardSender(shared.catalog, transactions);
    const context = new RouterContext(shared.catalog, shared.clock, sender, new RouterCursors(), transactions, shared.configShard, shared.deployment);
    const router = new Router(identity, context, shared.balancer, shared.migration);
    started.router = router;
    await announce(shared.catalog, identity);
    return new RouterMember(identity, router, server);
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
    doc(['_id', diagnosticHost(identity)], ['advisoryHostFQDNs', []], ['created', now], ['mongoVersion', identity.version.text], ['ping', now], ['waiting', true]),
  );
}
