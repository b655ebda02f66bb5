import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { encodeDocument } from '../../bson/encode.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import { completeReply, firstBatchReply } from '../cursor/cursor-reply.js';
import { DocumentSource } from '../read/document-source.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import type { View } from '../storage/catalog.js';
import { optionalDoc, sessionText, type CommandContext } from './command-context.js';

/** Approximate bytes of an empty database's files, for the sizes in lists. */
const FILE_BYTES = 4096;

/** `listCollections`: collections and views of the database that match the filter. */
export function listCollections(context: CommandContext): Doc | Promise<Doc> {
  const { state, request } = context;
  const nameOnly = isTrue(request.body.get('nameOnly'));
  const described = [
    ...state.catalog.collectionsOf(request.db).map(describeCollection),
    ...state.catalog.viewsOf(request.db).map(describeView),
    ...(request.db === 'local' ? [describeOplog(state)] : []),
  ];
  const filter = optionalDoc(context, 'filter');
  const matches = filter === undefined ? undefined : compileMatcher(filter);
  const shown = described
    .filter((entry) => matches === undefined || matches(entry))
    .map((entry) => (nameOnly ? new Map([...entry].slice(0, 2)) : entry));
  const namespace = `${request.db}.$cmd.listCollections`;
  const cursor = request.body.get('cursor');
  const batchSize = cursor instanceof Map ? numberOf(cursor.get('batchSize')) : undefined;
  if (batchSize === undefined || shown.length <= batchSize) return completeReply(shown, namespace);
  const source = new DocumentSource(shown.map(encodeDocument).values(), state.history, undefined);
  const owner = { namespace, collectionUuid: undefined, session: sessionText(context) };
  return firstBatchReply(state.cursors, source, owner, {
    batchSize,
    singleBatch: false,
    maxTimeMs: undefined,
    signal: request.signal,
  });
}

function describeCollection(collection: Collection): Doc {
  const described: Doc = new Map<string, Value>([
    ['name', collection.name],
    ['type', 'collection'],
    ['options', collection.options],
    [
      'info',
      new Map<string, Value>([
        ['readOnly', false],
        ['uuid', collection.uuid],
      ]),
    ],
  ]);
  if (!collection.options.has('clusteredIndex')) described.set('idIndex', collection.idIndex.definition.spec);
  return described;
}

/** The oplog, which the catalog does not contain. */
function describeOplog({ oplog }: ShardState): Doc {
  return new Map<string, Value>([
    ['name', 'oplog.rs'],
    ['type', 'collection'],
    [
      'options',
      new Map<string, Value>([
        ['capped', true],
        ['size', Long.fromNumber(oplog.bytesMax)],
        ['autoIndexId', false],
      ]),
    ],
    ['info', new Map<string, Value>([['readOnly', false]])],
  ]);
}

function describeView(view: View): Doc {
  return new Map<string, Value>([
    ['name', view.namespace.slice(view.namespace.indexOf('.') + 1)],
    ['type', view.type],
    ['options', view.options],
    ['info', new Map<string, Value>([['readOnly', view.type === 'view']])],
  ]);
}

/** `listDatabases`: databases that match the filter, with sizes unless only names are asked for. */
export function listDatabases(context: CommandContext): Doc {
  const { state, request } = context;
  const filter = optionalDoc(context, 'filter');
  const matches = filter === undefined ? undefined : compileMatcher(filter);
  const all = databaseNames(state).map((name) => describeDatabase(state, name));
  const shown = all.filter((entry) => matches === undefined || matches(entry));
  if (isTrue(request.body.get('nameOnly'))) {
    return new Map<string, Value>([['databases', shown.map((entry) => new Map([['name', entry.get('name') ?? '']]))]]);
  }
  const total = shown.reduce((sum, entry) => sum + (numberOf(entry.get('sizeOnDisk')) ?? 0), 0);
  return new Map<string, Value>([
    ['databases', shown],
    ['totalSize', Long.fromNumber(total)],
    ['totalSizeMb', Long.fromNumber(Math.floor(total / 1_048_576))],
  ]);
}

/** Every node has `admin`, `config` and `local` besides the users' databases. */
function databaseNames(state: ShardState): string[] {
  return [...new Set([...state.catalog.databaseNames(), 'admin', 'config', 'local'])].sort();
}

function describeDatabase(state: ShardState, name: string): Doc {
  const collections = state.catalog.collectionsOf(name);
  const bytes = collections.reduce(
    (sum, collection) => sum + storageBytes(collection) + FILE_BYTES * collection.indexes.length,
    0,
  );
  return new Map<string, Value>([
    ['name', name],
    ['sizeOnDisk', Long.fromNumber(Math.max(bytes, FILE_BYTES))],
    ['empty', false],
  ]);
}

/** Approximate bytes of a collection's file: its documents in whole blocks. */
export function storageBytes(collection: Collection): number {
  return Math.max(1, Math.ceil(collection.documentBytes / FILE_BYTES)) * FILE_BYTES;
}

/** Approximate bytes of one index file. */
export function indexBytes(collection: Collection): number {
  return Math.max(1, Math.ceil((collection.documentCount * INDEX_ENTRY_BYTES) / FILE_BYTES)) * FILE_BYTES;
}

/** Approximate bytes of a small key with its record id. */
const INDEX_ENTRY_BYTES = 12;
