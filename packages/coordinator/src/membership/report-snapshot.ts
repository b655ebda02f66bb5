import { redisTime_ms } from '../redis/redis-time.js';
import type { RedisConnection } from '../redis/connections.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis } from '../redis/redis-failure.js';
import { decodeMessage } from './report-message.js';
import type { MemberMessage } from './report-message.js';

/** A stored report, and for how long its instance has been silent in milliseconds: infinite when it left. */
export interface StoredReport {
  readonly message: MemberMessage;
  readonly silent_ms: number;
}

function storedReport(text: string | null, leftIncarnation: string | null, silent_ms: number): StoredReport[] {
  const message = text === null ? null : decodeMessage(text);
  if (message?.kind !== 'report') return [];
  const left = message.report.identity.incarnation === leftIncarnation;
  return [{ message, silent_ms: left ? Number.POSITIVE_INFINITY : silent_ms }];
}

async function read(connection: RedisConnection, keys: FleetKeys): Promise<StoredReport[]> {
  const [now_ms, pairs] = await Promise.all([redisTime_ms(connection), connection.zrange(keys.members, 0, -1, 'WITHSCORES')]);
  const heardAt_ms = new Map<string, number>();
  for (let at = 0; at + 1 < pairs.length; at += 2) heardAt_ms.set(pairs[at] ?? '', Number(pairs[at + 1]));
  if (heardAt_ms.size === 0) return [];
  const ids = [...heardAt_ms.keys()];
  const [texts, left] = await Promise.all([
    connection.mget(ids.map((id) => keys.report(id))),
    connection.mget(ids.map((id) => keys.left(id))),
  ]);
  return ids.flatMap((id, at) => storedReport(texts[at] ?? null, left[at] ?? null, Math.max(0, now_ms - (heardAt_ms.get(id) ?? 0))));
}

/**
 * The reports that Redis holds, for those who were not listening when they were published.
 * @param limit_ms how long it may take
 * @throws ConvoyError `redisUnavailable`
 */
export function loadReports(connection: RedisConnection, keys: FleetKeys, limit_ms: number): Promise<StoredReport[]> {
  return callRedis(read(connection, keys), limit_ms);
}
