/*
 * Runs members of a fleet: `node member-process.js ORDER`. Prints `{"url": …}` once all are members, and answers there
 * (see `member-order.ts`) until SIGTERM.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { createLogger } from '@convoy/instance/logging/logger';
import { CountedCalls } from './counted-calls.js';
import { EngineMember } from './engine-member.js';
import type { FleetMember } from './fleet-member.js';
import type { MemberOrder, MemberState } from './member-order.js';
import { StagedMember } from './staged-member.js';

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
