import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BSON, type Document } from 'mongodb';
import type { CommandName } from '@convoy/api/contract/commands';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { CommandResult, Fleet, InstanceIdentity } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { systemClock } from '@convoy/instance/async/clock';
import type { ClusterClient, NodeClient } from '@convoy/instance/cluster/node-client';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { type Connect, connectConfigured } from '@convoy/instance/lifecycle/migration/clusters';
import { createRuntime } from '@convoy/instance/lifecycle/migration/runtime';
import { carryOut } from '@convoy/instance/lifecycle/instance/fleet-command';
import { reportInterval_ms } from '@convoy/instance/lifecycle/instance/report';
import { SyncInstance } from '@convoy/instance/lifecycle/instance/sync-instance';
import { createLogger, type Logger } from '@convoy/instance/logging/logger';
import { Metrics } from '@convoy/instance/metrics/metrics';
import { stagedReport } from '../staged-report.js';
import type { Mark, MemberOrder, MemberState, MetadataCalls } from './member-order.js';

const metadataDatabase = 'convoy_metadata';

/** Counts what engines ask of the metadata database. */
class CountedCalls {
  readonly #commands = new Map<string, number>();
  #bytesRead = 0;

  /** Connects as instances do, with counted calls to the destination's router. */
  readonly connect: Connect = async (...given) => {
    const cluster = await connectConfigured(...given);
    return given[1] === 'cluster1' ? this.#counted(cluster) : cluster;
  };

  get calls(): MetadataCalls {
    return { commands: Object.fromEntries(this.#commands), bytesRead: this.#bytesRead };
  }

  #counted(cluster: ClusterClient): ClusterClient {
    const router = this.#countedNode(cluster.router);
    return new Proxy(cluster, {
      get: (target, name) => {
        if (name === 'router') return router;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  #countedNode(node: NodeClient): NodeClient {
    return {
      label: node.label,
      command: async (database, command, options) => {
        const reply = await node.command(database, command, options);
        if (database === metadataDatabase) this.#count(command, reply);
        return reply;
      },
      openCursor: (database, command, options) => node.openCursor(database, command, options),
      write: (write, ticket, options) => {
        if (write.database === metadataDatabase) this.#add(`${write.kind} ${write.collection}`);
        return node.write(write, ticket, options);
      },
      close: () => node.close(),
    };
  }

  #count(command: Document, reply: Document): void {
    const [[name, collection] = ['', '']] = Object.entries(command) as [string, unknown][];
    this.#add(`${name} ${String(collection)}`);
    if (name === 'find') this.#bytesRead += BSON.calculateObjectSize(reply);
  }

  #add(call: string): void {
    this.#commands.set(call, (this.#commands.get(call) ?? 0) + 1);
  }
}

/*
 * Runs members of a fleet: `node member-process.js ORDER`. Prints `{"url": …}` once all are members, and answers there
 * (see `member-order.ts`) until SIGTERM.
 */

/** A member of a fleet under measurement. */
interface FleetMember {
  /** Whether it holds the leader lease. */
  readonly leads: boolean;
  /** Reports a value that it has never reported before. */
  mark(): Mark;
  close(): Promise<void>;
}

const stateAfter: Readonly<Record<CommandName, MigrationState>> = {
  start: 'RUNNING',
  pause: 'PAUSED',
  resume: 'RUNNING',
  commit: 'COMMITTED',
  reverse: 'RUNNING',
};

/** A member of a fleet that syncs nothing: it takes commands at once, and reports a copy while it runs. */
class StagedMember implements FleetMember {
  readonly #timer: NodeJS.Timeout;
  #state: MigrationState = 'IDLE';
  #step = 0;

  constructor(
    private readonly fleet: Fleet,
    private readonly identity: InstanceIdentity,
    private readonly allIds: readonly string[],
  ) {
    fleet.serve(({ name }) => this.#take(name));
    this.#report();
    this.#timer = setInterval(() => this.#tick(), reportInterval_ms(allIds.length));
  }

  get leads(): boolean {
    return this.fleet.isLeader();
  }

  mark(): Mark {
    this.#step += 1_000;
    const { identity } = this;
    return { id: identity.id, totalEventsApplied: this.#report(), at_ms: Date.now() };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.fleet.leave();
  }

  #take(name: CommandName): Promise<CommandResult> {
    this.#state = stateAfter[name];
    this.#report();
    return Promise.resolve({ success: true });
  }

  #tick(): void {
    if (this.#state !== 'RUNNING') return;
    this.#step += 1;
    this.#report();
  }

  /** @returns the reported number of events */
  #report(): number {
    const { identity, allIds } = this;
    const report =
      this.#state === 'IDLE'
        ? idleReport(identity)
        : stagedReport(
            { identity, ids: allIds, at: allIds.indexOf(identity.id), leads: this.leads },
            this.#step,
            this.#state,
          );
    this.fleet.report(report);
    return report.progress.totalEventsApplied ?? 0;
  }
}

interface EngineMemberDependencies {
  fleet: Fleet;
  identity: InstanceIdentity;
  clusters: { cluster0: string; cluster1: string };
  counted: CountedCalls;
  logger: Logger;
}

/** A member of a fleet with the whole engine, without its HTTP server. */
class EngineMember implements FleetMember {
  readonly #instance: SyncInstance;

  constructor(private readonly deps: EngineMemberDependencies) {
    const { fleet, identity, clusters, counted, logger } = deps;
    const config = parseInstanceConfig({ file: { ...clusters, id: identity.id } });
    const runtime = createRuntime(config, systemClock, logger, new Metrics({ processMetrics: false }));
    this.#instance = new SyncInstance(runtime, fleet, identity, counted.connect);
    fleet.serve((command, awaited_ms) => carryOut(this.#instance, command, awaited_ms));
  }

  get leads(): boolean {
    return this.deps.fleet.isLeader();
  }

  /** Connects and resumes its part of a migration. */
  open(): Promise<void> {
    return this.#instance.open();
  }

  mark(): Mark {
    throw new Error('The values of an engine are its own.');
  }

  close(): Promise<void> {
    return this.#instance.close();
  }
}

const order = JSON.parse(process.argv[2] ?? '') as MemberOrder;
const logger = createLogger({ verbosity: order.clusters === undefined ? 'FATAL' : 'WARN' });
const counted = new CountedCalls();
const members = new Map<string, FleetMember>();
await Promise.all(order.ids.map(async (id) => members.set(id, await join(id))));

const server = createServer(({ method }, response) => {
  const answer = method === 'POST' ? [...members.values()][0]?.mark() : state();
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
process.once('SIGTERM', () => {
  server.close();
  void Promise.all([...members.values()].map((member) => member.close())).then(() => process.exit(0));
});

async function join(id: string): Promise<FleetMember> {
  const identity = { id, syncID: id, incarnation: randomUUID(), release: '2.0.0' };
  const fleet = new RedisFleet({ redis: parseRedisSettings(order.redis), fleet: order.fleet, logger });
  await fleet.join(identity);
  if (order.clusters === undefined) return new StagedMember(fleet, identity, order.allIds);
  const member = new EngineMember({ fleet, identity, clusters: order.clusters, counted, logger });
  void member.open();
  return member;
}

function state(): MemberState {
  return {
    leads: [...members].filter(([, { leads }]) => leads).map(([id]) => id),
    metadata: counted.calls,
  };
}
