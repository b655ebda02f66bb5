import type { Logger } from 'pino';
import type { Secret } from '@convoy/api/configuration/secret';
import type { Warning } from '@convoy/api/contract/progress';
import { isLoopbackHost } from '@convoy/api/http/listen-address';

/** Address of one Redis or Sentinel process. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** TLS options of Node.js; files are read on connecting. */
export interface RedisTls {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly servername?: string | undefined;
  /** Accepts any certificate; only for tests with self-signed ones. */
  readonly allowInvalidCertificates: boolean;
}

/** Topology of Redis. */
export type RedisTopology =
  | { readonly kind: 'single'; readonly address: RedisAddress }
  | {
      readonly kind: 'sentinel';
      readonly sentinels: readonly RedisAddress[];
      /** The primary's name in the Sentinels. */
      readonly primaryName: string;
      readonly sentinelUsername?: Secret | undefined;
      readonly sentinelPassword?: Secret | undefined;
    }
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisAddress[] };

/** Everything that a connection to Redis needs. `parseRedisSettings` creates it. */
export interface RedisSettings {
  readonly topology: RedisTopology;
  /** An ACL user; the default user when left out. */
  readonly username?: Secret | undefined;
  readonly password?: Secret | undefined;
  /** Number of the logical database; always 0 in a Redis Cluster. */
  readonly database: number;
  /** Encrypts the connections when present. */
  readonly tls?: RedisTls | undefined;
  /** Prefix of every key and channel, for servers that several applications share. */
  readonly keyPrefix: string;
}

function hostsOf({ topology }: RedisSettings): string[] {
  if (topology.kind === 'single') return [topology.address.host];
  return (topology.kind === 'sentinel' ? topology.sentinels : topology.nodes).map(({ host }) => host);
}

/** Whether any of the addresses is on another host. */
export function isBeyondLocalHost(settings: RedisSettings): boolean {
  return !hostsOf(settings).every(isLoopbackHost);
}

/** The warning about a Redis beyond the local host without a password or TLS; none for others. */
export function redisExposure(settings: RedisSettings): Warning[] {
  if (!isBeyondLocalHost(settings)) return [];
  const missing = [
    ...(settings.password === undefined ? ['a password'] : []),
    ...(settings.tls === undefined ? ['TLS'] : []),
  ];
  if (missing.length === 0) return [];
  return [
    {
      name: 'redisNotProtected',
      description:
        `Redis is used without ${missing.join(' and ')} beyond the local host. Whoever commands Redis commands the ` +
        'fleet: protect it, and set fleetSecret.',
    },
  ];
}

/** Logs the warning once, at the start. */
export function logRedisExposure(settings: RedisSettings, logger: Logger): void {
  for (const { description } of redisExposure(settings)) logger.warn({ event: 'redisNotProtected' }, description);
}
