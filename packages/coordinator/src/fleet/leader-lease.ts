import { z } from 'zod';
import type { Leader } from '@convoy/api/fleet/fleet';
import type { Watchers } from '@convoy/api/fleet/watchers';
import { callRedis } from '../redis/redis-failure.js';
import { parsed, type SignedRedis } from '../redis/signed-redis.js';

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
function encodeLease({ id, syncID, incarnation }: LeaseHolder): string {
  return JSON.stringify({ id, syncID, incarnation });
}

/** Parses a lease; null when nobody holds it. */
export function decodeLease(text: string | null): LeaseHolder | null {
  return text === null || text === '' ? null : parsed(leaseSchema, text);
}

/** The leader lease of a fleet in Redis. All calls throw ConvoyError `redisUnavailable`. */
export class LeaderLease {
  constructor(private readonly redis: Pick<SignedRedis, 'connection' | 'keys' | 'limit_ms'>) {}

  /** Takes or renews the lease for the candidate unless another process holds it. Returns the holder. */
  async campaign(candidate: LeaseHolder, lease_ms: number): Promise<LeaseHolder | null> {
    const value = encodeLease(candidate);
    const { connection, keys, limit_ms } = this.redis;
    const call = connection.eval(CAMPAIGN, 1, keys.leader, value, lease_ms, keys.leaderChannel);
    const holder = await callRedis(call, limit_ms);
    return decodeLease(String(holder));
  }

  /** The current holder; null when the lease is vacant. */
  async holder(): Promise<LeaseHolder | null> {
    const { connection, keys, limit_ms } = this.redis;
    return decodeLease(await callRedis(connection.get(keys.leader), limit_ms));
  }

  /** Releases the candidate's lease; no effect when it does not hold it. */
  async resign(candidate: LeaseHolder): Promise<void> {
    const { connection, keys, limit_ms } = this.redis;
    const value = encodeLease(candidate);
    await callRedis(connection.eval(RESIGN, 1, keys.leader, value, keys.leaderChannel), limit_ms);
  }
}

/**
 * The leader that one process knows. It keeps the last known leader while Redis does not respond, and drops it only
 * after reading a vacant lease.
 */
export class LeaderView {
  #holder: LeaseHolder | null = null;

  constructor(private readonly watchers: Watchers) {}

  leader(): Leader | null {
    return this.#holder === null ? null : { id: this.#holder.id, syncID: this.#holder.syncID };
  }

  /** Updates from the lease's content; null for a vacant lease. */
  see(holder: LeaseHolder | null): void {
    const changed = holder?.incarnation !== this.#holder?.incarnation || holder?.syncID !== this.#holder?.syncID;
    this.#holder = holder;
    if (changed) this.watchers.notify('leader');
  }
}
