import { setTimeout as pause } from 'node:timers/promises';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { InstanceIdentity } from '@convoy/api/fleet/fleet';
import { callRedis } from '../redis/redis-failure.js';
import type { FleetLink } from './fleet-link.js';
import { encodeLeft, sealMessage } from './report-message.js';

/** Takes a vacant lease. Returns -1 on success, otherwise the remaining milliseconds of its holder's lease. */
const CLAIM = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return -1 end
return redis.call('PTTL', KEYS[1])`;

/**
 * Releases the own lease, records the departure and notifies the others. KEYS: identity, left.
 * ARGV: incarnation, retention ms, channel, message, the departure to store.
 */
const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1`;

/** Attempts per lease time on a taken lease: a live holder renews it several times in between. */
const LOOKS_PER_LEASE = 10;
/** Attempts before giving up; the lease of a dead holder expires long before. */
const LOOKS_MAX = 3 * LOOKS_PER_LEASE;

/** One process's claim to an instance id: an expiring key that holds its incarnation. The heartbeat renews it. */
export class IdentityLease {
  constructor(
    private readonly redis: Pick<FleetLink, 'connection' | 'keys' | 'signature' | 'timings'>,
    private readonly identity: InstanceIdentity,
  ) {}

  /**
   * Takes the lease. Waits for the lease of a dead process to expire, for one lease time at most.
   * @param onWait called once when another process has, or had, the id
   * @throws ConvoyError `identityTaken` once its holder renews it, `redisUnavailable`
   */
  async claim(onWait: () => void): Promise<void> {
    let left_ms = Number.POSITIVE_INFINITY;
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const seen_ms = await this.#claimOnce();
      if (seen_ms === -1) return;
      if (seen_ms > left_ms) break;
      if (look === 0) onWait();
      left_ms = seen_ms;
      await pause(this.redis.timings.identityLease_ms / LOOKS_PER_LEASE);
    }
    throw new ConvoyError(
      'identityTaken',
      `A live process already uses the id ${this.identity.id}. Stop it or configure another id.`,
    );
  }

  /**
   * Whether another process holds the lease. A process that was frozen has just lost its connection, so this asks
   * again, for one lease time.
   * @throws ConvoyError `redisUnavailable`
   */
  async isTaken(): Promise<boolean> {
    const { identityLease_ms } = this.redis.timings;
    const until_ms = performance.now() + identityLease_ms;
    for (;;) {
      try {
        return await this.#isTakenNow();
      } catch (error) {
        if (performance.now() >= until_ms) throw error;
      }
      await pause(identityLease_ms / LOOKS_PER_LEASE);
    }
  }

  /** Releases the lease, unless another process holds it, and notifies the others. */
  async release(): Promise<void> {
    const { id, incarnation } = this.identity;
    const { redisCall_ms, reportRetention_ms } = this.redis.timings;
    const { departuresChannel } = this.redis.keys;
    const keys = [this.redis.keys.identity(id), this.redis.keys.left(id)];
    const message = sealMessage(this.redis.signature, encodeLeft(id, incarnation));
    const left = this.redis.signature.seal('left', [id], incarnation);
    await callRedis(
      this.redis.connection.eval(
        RELEASE,
        2,
        ...keys,
        incarnation,
        reportRetention_ms,
        departuresChannel,
        message,
        left,
      ),
      redisCall_ms,
    );
  }

  async #isTakenNow(): Promise<boolean> {
    const { id, incarnation } = this.identity;
    const holder = await callRedis(
      this.redis.connection.get(this.redis.keys.identity(id)),
      this.redis.timings.redisCall_ms,
    );
    return holder !== null && holder !== incarnation;
  }

  async #claimOnce(): Promise<number> {
    const { identityLease_ms, redisCall_ms } = this.redis.timings;
    const key = this.redis.keys.identity(this.identity.id);
    return Number(
      await callRedis(
        this.redis.connection.eval(CLAIM, 1, key, this.identity.incarnation, identityLease_ms),
        redisCall_ms,
      ),
    );
  }
}
