import type { RedisConnection } from '../redis/connections.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis } from '../redis/redis-failure.js';
import { decodeMessage } from './report-message.js';
import type { MemberMessage } from './report-message.js';

/** A stored report and what is left of its instance's lease in milliseconds, null when it has run out. */
export interface StoredReport {
  readonly message: MemberMessage;
  readonly leaseLeft_ms: number | null;
}

async function read(connection: RedisConnection, keys: FleetKeys): Promise<StoredReport[]> {
  const ids = await connection.zrange(keys.members, 0, -1);
  if (ids.length === 0) return [];
  const texts = await connection.mget(ids.map((id) => keys.report(id)));
  const leases = await Promise.all(ids.map((id) => connection.pttl(keys.identity(id))));
  return ids.flatMap((_id, at) => {
    const text = texts[at] ?? null;
    const message = text === null ? null : decodeMessage(text);
    const left_ms = leases[at] ?? -1;
    return message === null ? [] : [{ message, leaseLeft_ms: left_ms < 0 ? null : left_ms }];
  });
}

/**
 * The reports that Redis holds, for those who were not listening when they were published.
 * @param limit_ms how long it may take
 * @throws ConvoyError `redisUnavailable`
 */
export function loadReports(connection: RedisConnection, keys: FleetKeys, limit_ms: number): Promise<StoredReport[]> {
  return callRedis(read(connection, keys), limit_ms);
}
