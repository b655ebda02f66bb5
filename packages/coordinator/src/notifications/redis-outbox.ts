import { type NotifiedEvent, notifiedEvents } from '@convoy/api/configuration/notify-settings';
import { callRedis } from '../redis/redis-failure.js';
import { parsed, type SignedRedis } from '../redis/signed-redis.js';
import { DELIVERIES_MAX, type Delivery, deliveryKey, deliverySchema, type Outbox } from './outbox.js';
import type { EventChange } from './standing-events.js';

/** How long Redis keeps the standing events and deliveries after the last coordinator looked. */
const RETENTION_MS = 30 * 24 * 3_600_000;

/** Reads a set or hash and prolongs it. ARGV: command, retention ms. */
const READ = `
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call(ARGV[1], KEYS[1])`;

/**
 * Records a change and its deliveries at once, by whoever comes first. ARGV: event, status, room, retention ms, then
 * key and value of each delivery. Returns how many deliveries were stored; -1 if the change was recorded already.
 */
const RECORD = `
local changed
if ARGV[2] == 'raised' then changed = redis.call('SADD', KEYS[1], ARGV[1])
else changed = redis.call('SREM', KEYS[1], ARGV[1]) end
if changed == 0 then return -1 end
local stored = 0
for at = 5, #ARGV, 2 do
  if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[3]) then break end
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
  stored = stored + 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return stored`;

/** ARGV: delivery's key, claim ms. */
const CLAIM = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;

/**
 * A finished delivery stays finished. The claim lasts until the next attempt, for coordinators that have read the
 * delivery before. ARGV: delivery's key, content, pause ms.
 */
const POSTPONE = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[2], ARGV[3])`;

const FINISH = `
redis.call('HDEL', KEYS[1], ARGV[1])
return redis.call('DEL', KEYS[2])`;

/** The one outbox of all coordinators of a fleet. All calls throw ConvoyError `redisUnavailable`. */
export class RedisOutbox implements Outbox {
  constructor(private readonly redis: SignedRedis) {}

  async standing(): Promise<ReadonlySet<NotifiedEvent>> {
    const events = (await this.#call(READ, [this.redis.keys.standingEvents], 'SMEMBERS', RETENTION_MS)) as string[];
    return new Set(notifiedEvents.filter((event) => events.includes(event)));
  }

  async record({ event, status }: EventChange, deliveries: readonly Delivery[]): Promise<readonly Delivery[] | null> {
    const stored = await this.#call(
      RECORD,
      [this.redis.keys.standingEvents, this.redis.keys.deliveries],
      ...[event, status, DELIVERIES_MAX, RETENTION_MS],
      ...deliveries.flatMap((delivery) => [deliveryKey(delivery), this.#seal(delivery)]),
    );
    return stored === -1 ? null : deliveries.slice(Number(stored));
  }

  async waiting(): Promise<readonly Delivery[]> {
    const entries = (await this.#call(READ, [this.redis.keys.deliveries], 'HGETALL', RETENTION_MS)) as string[];
    const waiting: Delivery[] = [];
    for (let at = 0; at + 1 < entries.length; at += 2) {
      const [key = '', sealed = ''] = entries.slice(at, at + 2);
      const text = this.redis.signature.open('delivery', [key], sealed, 'any');
      // What nobody will send would take the room of others, and be refused again at every look.
      if (text === null) await this.#call(FINISH, this.#keysOf(key), key);
      const delivery = text === null ? null : parsed(deliverySchema, text);
      if (delivery !== null) waiting.push(delivery);
    }
    return waiting;
  }

  async claim(delivery: Delivery, claim_ms: number): Promise<boolean> {
    const key = deliveryKey(delivery);
    return (await this.#call(CLAIM, this.#keysOf(key), key, claim_ms)) === 1;
  }

  async postpone(delivery: Delivery, pause_ms: number): Promise<void> {
    const key = deliveryKey(delivery);
    await this.#call(POSTPONE, this.#keysOf(key), key, this.#seal(delivery), pause_ms);
  }

  async finish(delivery: Delivery): Promise<void> {
    const key = deliveryKey(delivery);
    await this.#call(FINISH, this.#keysOf(key), key);
  }

  #seal(delivery: Delivery): string {
    return this.redis.signature.seal('delivery', [deliveryKey(delivery)], JSON.stringify(delivery));
  }

  #keysOf(key: string): string[] {
    return [this.redis.keys.deliveries, this.redis.keys.deliveryClaim(key)];
  }

  #call(script: string, keys: readonly string[], ...args: readonly (string | number)[]): Promise<unknown> {
    return callRedis(this.redis.connection.eval(script, keys.length, ...keys, ...args), this.redis.limit_ms);
  }
}
