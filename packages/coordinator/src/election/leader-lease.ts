import { z } from 'zod';
import type { Leader } from '@convoy/api/fleet/fleet';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis } from '../redis/redis-failure.js';

/** Takes a vacant lease or renews an own one, and returns what the lease holds then. ARGV: own value, lease ms, channel. */
const CAMPAIGN = `
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[1])
  return ARGV[1]
end
if holder == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return holder`;

/** Gives an own lease back and tells the others, who campaign at once. An empty message says that nobody leads. */
const RESIGN = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '')
return 1`;

const leaseSchema = z.object({ id: z.string(), syncID: z.string(), incarnation: z.string() });

/** Who leads, with the process that does. */
export interface LeaseHolder extends Leader {
  readonly incarnation: string;
}

/** The text that the lease of a holder contains; always the same for the same process. */
export function encodeLease({ id, syncID, incarnation }: LeaseHolder): string {
  return JSON.stringify({ id, syncID, incarnation });
}

/** Reads a lease; null when nobody holds it. */
export function decodeLease(text: string | null): LeaseHolder | null {
  if (text === null || text === '') return null;
  try {
    return leaseSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The lease of a fleet's leader in Redis. All calls throw ConvoyError `redisUnavailable`. */
export class LeaderLease {
  readonly #connection: RedisConnection;
  readonly #keys: FleetKeys;
  readonly #limit_ms: number;

  /** @param limit_ms how long one call may take */
  constructor(connection: RedisConnection, keys: FleetKeys, limit_ms: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limit_ms = limit_ms;
  }

  /** Takes or renews the lease for the candidate unless another holds it. Returns who holds it now. */
  async campaign(candidate: LeaseHolder, lease_ms: number): Promise<LeaseHolder | null> {
    const value = encodeLease(candidate);
    const { leader, leaderChannel } = this.#keys;
    const holder = await callRedis(
      this.#connection.eval(CAMPAIGN, 1, leader, value, lease_ms, leaderChannel),
      this.#limit_ms,
    );
    return decodeLease(String(holder));
  }

  /** Who holds the lease now; null when nobody does. */
  async holder(): Promise<LeaseHolder | null> {
    return decodeLease(await callRedis(this.#connection.get(this.#keys.leader), this.#limit_ms));
  }

  /** Gives the candidate's lease back; nothing happens when it does not hold it. */
  async resign(candidate: LeaseHolder): Promise<void> {
    const { leader, leaderChannel } = this.#keys;
    await callRedis(this.#connection.eval(RESIGN, 1, leader, encodeLease(candidate), leaderChannel), this.#limit_ms);
  }
}
