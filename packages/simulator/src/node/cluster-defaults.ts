import { Int32 } from 'bson';
import type { Doc } from '../bson/value.js';
import type { CommandRequest } from './command.js';

/** Commands that take a write concern (server source: `supportsWriteConcern`). */
const writes: ReadonlySet<string> = new Set([
  'appendOplogNote',
  'collMod',
  'convertToCapped',
  'create',
  'createIndexes',
  'delete',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'enableSharding',
  'findAndModify',
  'insert',
  'renameCollection',
  'shardCollection',
  'update',
]);

/** Commands that take a default read concern and a default time limit. */
const reads: ReadonlySet<string> = new Set(['aggregate', 'count', 'distinct', 'find']);

/** Whether a command takes a write concern. */
export function takesWriteConcern({ name }: CommandRequest): boolean {
  return writes.has(name);
}

/**
 * What a deployment adds to commands that do not state it: `setDefaultRWConcern`, and the cluster parameter
 * `defaultMaxTimeMS` (8.0).
 */
export class ClusterDefaults {
  writeConcern: Doc | undefined;
  readConcern: Doc | undefined;
  /** Milliseconds that a read may take; 0 for no limit. */
  readOperationsMs = 0;
  /** Seconds since 1970 of its last change; 0 for none. */
  readOperationsSince = 0;

  /**
   * Adds to a client's command what it does not state. Statements of transactions take nothing, and a change stream has
   * its own read concern and no limit. A `maxTimeMS` of 0 counts as stated.
   * @param takesConcerns false for a shard, whose clients are routers
   */
  complete({ name, body, connection }: CommandRequest, takesConcerns: boolean): void {
    if (body.has('autocommit')) return;
    if (takesConcerns && this.writeConcern !== undefined && writes.has(name) && !body.has('writeConcern'))
      body.set('writeConcern', new Map(this.writeConcern).set('provenance', 'customDefault'));
    if (!reads.has(name) || opensStream(body)) return;
    if (takesConcerns && this.readConcern !== undefined && !body.has('readConcern'))
      body.set('readConcern', new Map(this.readConcern).set('provenance', 'customDefault'));
    if (this.readOperationsMs > 0 && connection.bypassesDefaultMaxTime === false && !body.has('maxTimeMS'))
      body.set('maxTimeMS', new Int32(this.readOperationsMs));
  }
}

/** Whether a command reads documents within its `maxTimeMS`, and opens no change stream. */
export function hasReadLimit({ name, body }: CommandRequest): boolean {
  return reads.has(name) && !opensStream(body);
}

function opensStream(body: Doc): boolean {
  const pipeline = body.get('pipeline');
  const first = Array.isArray(pipeline) ? pipeline[0] : undefined;
  return first instanceof Map && first.has('$changeStream');
}
