import type { Binary, Timestamp } from 'bson';

/** A database of the cluster and its primary shard. */
export interface DatabaseEntry {
  readonly name: string;
  readonly primary: string;
  readonly partitioned: boolean;
  readonly uuid: Binary;
  readonly timestamp: Timestamp;
  /** Increases with every move of the primary. With the UUID it is the database's version. */
  readonly lastMod: number;
}
