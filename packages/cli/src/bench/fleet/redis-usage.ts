import { setTimeout as delay } from 'node:timers/promises';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisConnections } from '@convoy/coordinator/redis/connections';
import type { RedisConnection } from '@convoy/coordinator/redis/redis-connection';
import { createLogger } from '@convoy/instance/logging/logger';

/** Time limit of a reply. */
const call_ms = 10_000;

/** Redis' load by a fleet in one second. */
export interface RedisUsage {
  /** Of clients and of their scripts. */
  commandsPerSecond: number;
  /** Published messages times the subscribers of their channel. */
  messagesPerSecond: number;
  /** To all its clients, including this observer. */
  bytesSentPerSecond: number;
  /** Busy part of one core by this process, which runs all instances. */
  cpuPercent: number;
}

interface Counters {
  commands: number;
  bytesSent: number;
}

/** Measures a Redis from outside the fleet, with a few commands per measurement. */
export class RedisObserver implements Disposable {
  readonly #connections: RedisConnections;
  readonly #client: RedisConnection;
  readonly #listener: RedisConnection;
  readonly #published = new Map<string, number>();

  constructor(url: string) {
    this.#connections = new RedisConnections(parseRedisSettings(url), createLogger({ verbosity: 'FATAL' }), call_ms);
    this.#client = this.#connections.bounded();
    this.#listener = this.#connections.subscriber();
    this.#listener.on('pmessage', (_pattern: string, channel: string) =>
      this.#published.set(channel, (this.#published.get(channel) ?? 0) + 1),
    );
  }

  async measure(fleet: string, seconds: number): Promise<RedisUsage> {
    const pattern = `{convoy:${fleet}}:*`;
    await this.#listener.psubscribe(pattern);
    this.#published.clear();
    const [before, cpu] = [await this.counters(), process.cpuUsage()];
    await delay(seconds * 1000);
    const [after, used] = [await this.counters(), process.cpuUsage(cpu)];
    const usage = {
      commandsPerSecond: (after.commands - before.commands) / seconds,
      messagesPerSecond: (await this.#delivered()) / seconds,
      bytesSentPerSecond: (after.bytesSent - before.bytesSent) / seconds,
      cpuPercent: (used.user + used.system) / (seconds * 10_000),
    };
    await this.#listener.punsubscribe(pattern);
    return usage;
  }

  async counters(): Promise<Counters> {
    const text = await this.#client.info('stats');
    const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1]);
    return { commands: read('total_commands_processed'), bytesSent: read('total_net_output_bytes') };
  }

  async #delivered(): Promise<number> {
    let delivered = 0;
    for (const [channel, published] of this.#published) {
      const [, subscribers] = (await this.#client.pubsub('NUMSUB', channel)) as [string, number];
      delivered += published * subscribers;
    }
    return delivered;
  }

  [Symbol.dispose](): void {
    this.#connections.close();
  }
}
