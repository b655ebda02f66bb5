import type { FleetKeys } from './keys.js';
import type { RedisConnection } from './redis-connection.js';
import type { FleetSignature } from './signature.js';

/** Where a fleet keeps signed values, and how they are signed. */
export interface SignedRedis {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly signature: FleetSignature;
  /** Time limit of one call. */
  readonly limit_ms: number;
}
