import type { Document } from 'mongodb';
import type { PassedCommand } from '../gate/command-gate.js';
import type { SentCommand } from '../gate/wire-messages.js';

const writes: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'findAndModify']);
const ddlChanges: ReadonlySet<string> = new Set([
  'create',
  'drop',
  'renameCollection',
  'shardCollection',
  'createIndexes',
  'dropIndexes',
  'collMod',
  'enableSharding',
  'split',
  'moveChunk',
  'addShardToZone',
  'removeShardFromZone',
  'updateZoneKeyRange',
  'balancerStop',
  'balancerStart',
]);

/**
 * What a former leader may leave there: catalogs bear its epoch, and entries of the journal do not count, so that
 * nobody reads them. One more re-read request, under a former owner's epoch, costs the next owner at most a read, and
 * costs one reading. The plan of a comparison is the first that was stored, whoever has made it; another one changes
 * nothing. The history decides about nothing.
 */
const leftUnread: ReadonlySet<string> = new Set([
  'collections',
  'committedCollections',
  'ddlChanges',
  'rereads',
  'verificationPlans',
  'history',
]);

/** Whether a command writes documents or changes definitions. */
export function isWrite({ name }: SentCommand): boolean {
  return writes.has(name) || ddlChanges.has(name);
}

/** Whether a command has written documents that matter. The catalogs show changed definitions. */
export function hasWritten({ name, database, target, body, reply }: PassedCommand): boolean {
  if (!writes.has(name) || reply?.['ok'] !== 1) return false;
  if (database === 'convoy_metadata' && leftUnread.has(target)) return false;
  if (name === 'findAndModify') return reply['value'] !== null && !takesEpoch(body);
  // An update that finds everything as it wants it has changed nothing.
  if (name === 'update') return Number(reply['nModified']) > 0 || reply['upserted'] !== undefined;
  return Number(reply['n']) > 0;
}

/** A new epoch makes the present leader take the next one, and changes nothing else. */
function takesEpoch(body: Document): boolean {
  return Object.keys(((body['update'] as Document)['$inc'] ?? {}) as Document).includes('leaderEpoch');
}
