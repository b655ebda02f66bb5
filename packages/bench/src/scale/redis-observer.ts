import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisConnections } from '@convoy/coordinator/redis/connections';
import type { RedisConnection } from '@convoy/coordinator/redis/signed-redis';
import { createLogger } from '@convoy/instance/logging/logger';

/** Time limit of a reply, on a loaded host. */
const call_ms = 30_000;

/** What a Redis has done since its start. */
export interface RedisCounters {
  /** Of clients and of their scripts. */
  commands: number;
  published: number;
  bytesIn: number;
  bytesOut: number;
  cpu_seconds: number;
}

/** What a Redis holds now. */
export interface RedisContent {
  memoryBytes: number;
  connections: number;
  keys: number;
}

/** Reads the counters of a Redis from outside the fleet. */
export class RedisObserver implements Disposable {
  readonly #connections: RedisConnections;
  readonly #client: RedisConnection;

  constructor(url: string) {
    this.#connections = new RedisConnections(parseRedisSettings(url), createLogger({ verbosity: 'FATAL' }), call_ms);
    this.#client = this.#connections.bounded();
  }

  async counters(): Promise<RedisCounters> {
    const [stats, cpu, calls] = await Promise.all(['stats', 'cpu', 'commandstats'].map((part) => this.#info(part)));
    return {
      commands: stats?.('total_commands_processed') ?? 0,
      published: calls?.('cmdstat_publish') ?? 0,
      bytesIn: stats?.('total_net_input_bytes') ?? 0,
      bytesOut: stats?.('total_net_output_bytes') ?? 0,
      cpu_seconds: (cpu?.('used_cpu_user') ?? 0) + (cpu?.('used_cpu_sys') ?? 0),
    };
  }

  async content(): Promise<RedisContent> {
    const [memory, clients] = await Promise.all(['memory', 'clients'].map((part) => this.#info(part)));
    return {
      memoryBytes: memory?.('used_memory') ?? 0,
      connections: clients?.('connected_clients') ?? 0,
      keys: await this.#client.dbsize(),
    };
  }

  /** Bytes of the stored report of an instance. */
  reportBytes(fleet: string, id: string): Promise<number> {
    return this.#client.strlen(`{convoy:${fleet}}:report:${id}`);
  }

  async #info(part: string): Promise<(name: string) => number> {
    const text = await this.#client.info(part);
    return (name) => Number(new RegExp(`^${name}:(?:calls=)?([0-9.]+)`, 'm').exec(text)?.[1] ?? 0);
  }

  [Symbol.dispose](): void {
    this.#connections.close();
  }
}
