import { z } from 'zod';
import type { Leader } from '@convoy/api/fleet/fleet';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis } from '../redis/redis-failure.js';

/** Takes a vacant lease or renews the own one, and returns the lease's content. ARGV: own value, lease ms, channel. */
const CAMPAIGN = `
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[1])
  return ARGV[1]
end
if holder == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return holder`;

/**
 * Releases the own lease and notifies the others, who campaign immediately. An empty message means that nobody leads.
 */
const RESIGN = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '')
return 1`;

const leaseSchema = z.object({ id: z.string(), syncID: z.string(), incarnation: z.string() });

/** The leader and its process. */
export interface LeaseHolder extends Leader {
  readonly incarnation: string;
}

/** The lease's content for a holder; always the same for the same process. */
export function encodeLease({ id, syncID, incarnation }: LeaseHolder): string {
  return JSON.stringify({ id, syncID, incarnation });
}

/** Parses a lease; null when nobody holds it. */
export function decodeLease(text: string | null): LeaseHolder | null {
  if (text === null || text === '') return null;
  try {
    return leaseSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The leader lease of a fleet in Redis. All calls throw ConvoyError `redisUnavailable`. */
export class LeaderLease {
  readonly #connection: RedisConnection;
  readonly #keys: FleetKeys;
  readonly #limit_ms: number;

  /** @param limit_ms time limit of one call */
  constructor(connection: RedisConnection, keys: FleetKeys, limit_ms: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limit_ms = limit_ms;
  }

  /** Takes or renews the lease for the candidate unless another process holds it. Returns the holder. */
  async campaign(candidate: LeaseHolder, lease_ms: number): Promise<LeaseHolder | null> {
    const value = encodeLease(candidate);
    const { leader, leaderChannel } = this.#keys;
    const holder = await callRedis(
      this.#connection.eval(CAMPAIGN, 1, leader, value, lease_ms, leaderChannel),
      this.#limit_ms,
    );
    return decodeLease(String(holder));
  }

  /** The current holder; null when the lease is vacant. */
  async holder(): Promise<LeaseHolder | null> {
    return decodeLease(await callRedis(this.#connection.get(this.#keys.leader), this.#limit_ms));
  }

  /** Releases the candidate's lease; no effect when it does not hold it. */
  async resign(candidate: LeaseHolder): Promise<void> {
    const { leader, leaderChannel } = this.#keys;
    await callRedis(this.#connection.eval(RESIGN, 1, leader, encodeLease(candidate), leaderChannel), this.#limit_ms);
  }
}
