import { z } from 'zod';
import { callRedis } from '../redis/redis-failure.js';
import type { SignedRedis } from '../redis/signed-redis.js';

/** Heartbeat and report times of instances, in milliseconds of the Redis server's clock. */
export interface Roster {
  readonly now_ms: number;
  /** Last heartbeats by instance id. */
  readonly heartbeats: ReadonlyMap<string, number>;
  /** Times by instance id: of the stored reports, or of the last ones with another standing. */
  readonly news: ReadonlyMap<string, number>;
}

/** Lua expression of a roster; `now_ms`, `members` and the set of `news` to read must be bound. */
export const ROSTER_EXPRESSION =
  `{ now_ms, redis.call('ZRANGE', members, 0, -1, 'WITHSCORES'), redis.call('ZRANGE', news, 0, -1, ` +
  `'WITHSCORES') }`;

/** Lua for the server's time. */
export const NOW_STATEMENTS = `
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)`;

const READ = `
local members, news = KEYS[1], KEYS[2]
${NOW_STATEMENTS}
return ${ROSTER_EXPRESSION}`;

const scoresSchema = z.array(z.string()).transform((pairs) => {
  const scores = new Map<string, number>();
  for (let at = 0; at + 1 < pairs.length; at += 2) scores.set(pairs[at] ?? '', Number(pairs[at + 1]));
  return scores;
});
const rosterSchema = z
  .tuple([z.number(), scoresSchema, scoresSchema])
  .transform(([now_ms, heartbeats, news]): Roster => ({ now_ms, heartbeats, news }));

/** Parses a script's return value for `ROSTER_EXPRESSION`; null when it is invalid. */
export function decodeRoster(reply: unknown): Roster | null {
  return rosterSchema.safeParse(reply).data ?? null;
}

/**
 * Reads the roster with every report; instances get theirs with their heartbeats.
 * @throws ConvoyError `redisUnavailable`
 */
export async function loadRoster({ connection, keys, limit_ms }: SignedRedis): Promise<Roster> {
  const reply = await callRedis(connection.eval(READ, 2, keys.members, keys.news), limit_ms);
  return decodeRoster(reply) ?? { now_ms: 0, heartbeats: new Map(), news: new Map() };
}
