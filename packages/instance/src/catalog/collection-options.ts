import type { Warning } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import { shownName } from '../cluster/time-series.js';
import { canonicalText, type CatalogEntry, withoutFields } from './namespace.js';
import { portableSeries } from './time-series.js';

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
  'timeseries',
]);

/** Options that a destination with another storage engine or build may refuse. */
const STORAGE_OPTIONS: ReadonlySet<string> = new Set(['storageEngine', 'indexOptionDefaults']);

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

/** What a collection or view has on the destination. */
interface DestinationOptions {
  options: Document;
  /** Options of its storage, which the destination may refuse: then it gets none of them. */
  storage: Document;
  /** For options that it cannot have. */
  warnings: Warning[];
}

/** The options that a collection or view has on the destination, with a warning for those it cannot have. */
export function portableOptions(entry: CatalogEntry): DestinationOptions {
  const names = Object.keys(entry.options);
  const kept = names.filter((name) => PORTABLE_OPTIONS.has(name));
  const dropped = names.filter(
    (name) => !PORTABLE_OPTIONS.has(name) && !STORAGE_OPTIONS.has(name) && !SILENT_OPTIONS.has(name),
  );
  const chosen = (some: readonly string[]): Document =>
    Object.fromEntries(some.map((name) => [name, entry.options[name] as unknown]));
  const options = chosen(kept);
  const storage = chosen(names.filter((name) => STORAGE_OPTIONS.has(name)));
  if ('collation' in options) options.collation = portableCollation(options.collation as Document);
  if ('timeseries' in options) options.timeseries = portableSeries(options.timeseries as Document);
  const warnings =
    dropped.length === 0 ? [] : [droppedWarning(entry, dropped, "these options belong to the source's storage")];
  return { options, storage, warnings };
}

/** @param why the reason, without a full stop */
export function droppedWarning(entry: CatalogEntry, names: readonly string[], why: string): Warning {
  return {
    name: 'collectionOptionDropped',
    description: `Convoy creates ${shownName(entry)} without ${names.join(', ')}: ${why}.`,
  };
}

/** The fields of a `create` command; the TTL of clustered collections and time series is left out until commit. */
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

/**
 * Whether the server deletes documents of a collection itself: by a TTL index, or by the age limit of a clustered
 * collection.
 */
export function expires({ indexes, options }: Pick<CatalogEntry, 'indexes' | 'options'>): boolean {
  return (
    options.expireAfterSeconds !== undefined ||
    indexes.some(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
  );
}
