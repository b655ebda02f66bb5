import type { Secret } from '@convoy/api/configuration/secret';

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
