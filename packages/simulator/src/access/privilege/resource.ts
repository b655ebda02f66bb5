import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';

/**
 * What a privilege or a command is about. Empty names stand for any: `{db: '', collection: ''}` is every normal
 * collection, `{db: 'x', collection: ''}` the database x (manual: "Resource Document").
 */
export type Resource =
  | { readonly kind: 'any' }
  | { readonly kind: 'cluster' }
  | { readonly kind: 'namespace' | 'buckets'; readonly db: string; readonly collection: string };

export const anyResource: Resource = { kind: 'any' };
export const clusterResource: Resource = { kind: 'cluster' };
export const anyNormalResource: Resource = { kind: 'namespace', db: '', collection: '' };
export const anyBucketsResource: Resource = { kind: 'buckets', db: '', collection: '' };

export function databaseResource(db: string): Resource {
  return { kind: 'namespace', db, collection: '' };
}

export function namespaceResource(db: string, collection: string): Resource {
  return { kind: 'namespace', db, collection };
}

/** The collection of this name in every database. */
export function everywhereResource(collection: string): Resource {
  return { kind: 'namespace', db: '', collection };
}

const bucketsPrefix = 'system.buckets.';
/** Databases that "any database" does not cover. */
const separateDatabases: ReadonlySet<string> = new Set(['local', 'config']);

/** A text that is equal for equal resources only. */
export function resourceKey(resource: Resource): string {
  return resource.kind === 'any' || resource.kind === 'cluster'
    ? resource.kind
    : `${resource.kind} ${resource.db}.${resource.collection}`;
}

/** Keys of all resources whose privileges cover a target. */
export function coveringKeys(target: Resource): string[] {
  const keys = ['any'];
  if (target.kind === 'any') return keys;
  if (target.kind === 'cluster') return [...keys, 'cluster'];
  const { db, collection } = target;
  if (collection.startsWith(bucketsPrefix)) keys.push(...bucketKeys(db, collection.slice(bucketsPrefix.length)));
  if (isNormal(db, collection)) {
    if (!separateDatabases.has(db)) keys.push('namespace .');
    if (db !== '') keys.push(`namespace ${db}.`);
  }
  if (collection !== '') keys.push(`namespace .${collection}`, `namespace ${db}.${collection}`);
  return keys;
}

function bucketKeys(db: string, view: string): string[] {
  return ['buckets .', `buckets ${db}.`, `buckets .${view}`, `buckets ${db}.${view}`];
}

function isNormal(db: string, collection: string): boolean {
  return !collection.startsWith('system.') && !(db === 'local' && collection.startsWith('replset.'));
}

/** The resource as clients write and read it. */
export function resourceDocument(resource: Resource): Doc {
  if (resource.kind === 'any') return doc(['anyResource', true]);
  if (resource.kind === 'cluster') return doc(['cluster', true]);
  if (resource.kind === 'namespace') return doc(['db', resource.db], ['collection', resource.collection]);
  return resource.db === ''
    ? doc(['system_buckets', resource.collection])
    : doc(['db', resource.db], ['system_buckets', resource.collection]);
}

/** @throws CommandError 9 for what names no resource */
export function readResource(value: Value | undefined): Resource {
  const fields: Doc = value instanceof Map ? value : new Map<string, Value>();
  const text = (name: string): string | undefined => {
    const field = fields.get(name);
    return typeof field === 'string' ? field : undefined;
  };
  if (fields.get('anyResource') === true) return anyResource;
  if (fields.get('cluster') === true) return clusterResource;
  const [db, collection, buckets] = [text('db'), text('collection'), text('system_buckets')];
  if (buckets !== undefined) return { kind: 'buckets', db: db ?? '', collection: buckets };
  if (db !== undefined && collection !== undefined) return { kind: 'namespace', db, collection };
  throw new CommandError(9, 'FailedToParse', 'resource must set both db and collection, or cluster, or anyResource');
}
