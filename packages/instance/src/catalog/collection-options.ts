import type { Warning } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import { canonicalText } from './canonical-text.js';
import type { CatalogEntry } from './namespace.js';
import { namespaceOf } from './namespace.js';
import { withoutFields } from './without-fields.js';

/** Options of `create` that mean the same on every cluster. Others belong to one server's storage or history. */
const PORTABLE_OPTIONS: ReadonlySet<string> = new Set([
  'capped',
  'size',
  'max',
  'collation',
  'validator',
  'validationLevel',
  'validationAction',
  'viewOn',
  'pipeline',
  'clusteredIndex',
  'changeStreamPreAndPostImages',
  'encryptedFields',
  'expireAfterSeconds',
]);

/** Options that old servers report and that mean nothing for a new collection. */
const SILENT_OPTIONS: ReadonlySet<string> = new Set([
  'flags',
  'temp',
  'uuid',
  'idIndex',
  'recordIdsReplicated',
  'autoIndexId',
]);

/** Before 6.0, servers rounded capped sizes up to multiples of this. */
const CAPPED_SIZE_UNIT_BYTES = 256;

/** The options that a collection or view has on the destination, with a warning for those it cannot have. */
export function portableOptions(entry: CatalogEntry): { options: Document; warnings: Warning[] } {
  const names = Object.keys(entry.options);
  const kept = names.filter((name) => PORTABLE_OPTIONS.has(name));
  const dropped = names.filter((name) => !PORTABLE_OPTIONS.has(name) && !SILENT_OPTIONS.has(name));
  const options: Document = Object.fromEntries(kept.map((name) => [name, entry.options[name] as unknown]));
  if ('collation' in options) options.collation = portableCollation(options.collation as Document);
  if (dropped.length === 0) return { options, warnings: [] };
  const description =
    `Convoy creates ${namespaceOf(entry)} without ${dropped.join(', ')}: these options belong to the source's ` +
    'storage.';
  return { options, warnings: [{ name: 'collectionOptionDropped', description }] };
}

/** The fields of a `create` command; the TTL of clustered collections is left out until commit. */
export function createOptions(options: Document): Document {
  return withoutFields(options, 'expireAfterSeconds');
}

/** A collation without the version of the server's library, which a server of another release may refuse. */
export function portableCollation(collation: Document): Document {
  return withoutFields(collation, 'version');
}

/**
 * Names of the options in which two collections differ, in order. Compares portable options only, and capped sizes as
 * the server rounds them.
 * @param form `temporary`: before commit, while a clustered collection has no TTL yet
 */
export function optionDifferences(expected: CatalogEntry, found: CatalogEntry, form: 'temporary' | 'final'): string[] {
  const a = comparableOptions(expected, form);
  const b = comparableOptions(found, form);
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return names.filter(
    (name) => canonicalText({ value: a[name] as unknown }) !== canonicalText({ value: b[name] as unknown }),
  );
}

function comparableOptions(entry: CatalogEntry, form: 'temporary' | 'final'): Document {
  const { options } = portableOptions(entry);
  const comparable: Document = { ...options };
  if (form === 'temporary') delete comparable.expireAfterSeconds;
  if (typeof options.size === 'number') {
    comparable.size = Math.ceil(options.size / CAPPED_SIZE_UNIT_BYTES) * CAPPED_SIZE_UNIT_BYTES;
  }
  if (options.capped !== true) delete comparable.capped;
  if (isEmptyDocument(options.validator)) delete comparable.validator;
  // Some releases write the defaults out.
  if (options.validationLevel === 'strict') delete comparable.validationLevel;
  if (options.validationAction === 'error') delete comparable.validationAction;
  if ((options.changeStreamPreAndPostImages as Document | undefined)?.enabled !== true)
    delete comparable.changeStreamPreAndPostImages;
  return comparable;
}

function isEmptyDocument(value: unknown): boolean {
  return value instanceof Map && value.size === 0;
}
