import { BSON, type Document } from 'mongodb';
import { bucketsOf } from './series.js';
import type { User } from './user.js';

const serverDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local', 'convoy_metadata']);
const differencesMax = 20;

/** Everything that users have on a cluster, as texts that can be compared. */
type Contents = Map<string, readonly string[]>;

/**
 * Differences between two clusters: definitions, indexes, shard keys, and documents byte for byte.
 * @param shardKeys false: the destination is a replica set
 */
export async function differences(source: User, destination: User, shardKeys: boolean): Promise<string[]> {
  const [first, second] = [await contentsOf(source), await contentsOf(destination)];
  if (shardKeys) {
    await addShardKeys(first, source);
    await addShardKeys(second, destination);
    for (const [part, index] of await keptIndexes(source))
      first.set(part, [...(first.get(part) ?? []), text(index)].sort());
  }
  const found: string[] = [];
  for (const part of new Set([...first.keys(), ...second.keys()])) {
    found.push(...different(part, first.get(part) ?? [], second.get(part) ?? []));
  }
  return found.slice(0, differencesMax);
}

function different(part: string, source: readonly string[], destination: readonly string[]): string[] {
  const missing = without(source, destination);
  const foreign = without(destination, source);
  const ordered =
    missing.length === 0 && foreign.length === 0 && source.some((text, index) => text !== destination[index]);
  return [
    ...missing.map((text) => `${part}: only on the source: ${text}`),
    ...foreign.map((text) => `${part}: only on the destination: ${text}`),
    ...(ordered ? [`${part}: not in the same order`] : []),
  ];
}

/** The texts of the first list that are more often in it than in the second. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of others) counts.set(text, (counts.get(text) ?? 0) + 1);
  return texts.filter((text) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count <= 0;
  });
}

async function contentsOf(user: User): Promise<Contents> {
  const contents: Contents = new Map();
  const { databases } = (await user.command('admin', { listDatabases: 1, nameOnly: true })) as {
    databases: { name: string }[];
  };
  for (const { name } of databases) {
    if (!serverDatabases.has(name)) await addDatabase(contents, name, user);
  }
  return contents;
}

async function addShardKeys(contents: Contents, user: User): Promise<void> {
  const sharded = await user.documents('config', { find: 'collections', filter: { dropped: { $ne: true } } });
  for (const { _id, key, unique } of sharded) {
    const namespace = String(_id);
    if (!serverDatabases.has(namespace.split('.')[0] ?? ''))
      contents.set(`${namespace} shard key`, [text({ key: key as unknown, unique: unique as unknown })]);
  }
}

/** A shard key whose index was dropped on the source keeps one on the destination. */
async function keptIndexes(source: User): Promise<[string, Document][]> {
  const kept: [string, Document][] = [];
  for (const { _id, key, unique } of await source.documents('config', {
    find: 'collections',
    filter: { dropped: { $ne: true } },
  })) {
    const [database = ''] = String(_id).split('.');
    const name = String(_id).slice(database.length + 1);
    const fields = Object.entries(key as Document).map(([field, order]) => [field, String(order)] as const);
    if (serverDatabases.has(database) || fields.flat().join() === '_id,1') continue;
    const present = await source.documents(database, { listIndexes: name });
    if (present.some((index) => isLeantOn(index, fields, unique === true))) continue;
    kept.push([
      `${String(_id)} indexes`,
      sorted({
        v: 2,
        key: key as unknown,
        name: fields.flat().join('_'),
        ...(unique === true ? { unique: true } : {}),
      }),
    ]);
  }
  return kept;
}

function isLeantOn(index: Document, fields: readonly (readonly [string, string])[], unique: boolean): boolean {
  const key = Object.entries(index['key'] as Document);
  if ('sparse' in index || 'partialFilterExpression' in index || 'collation' in index) return false;
  if (unique && (index['unique'] !== true || key.length > fields.length)) return false;
  return fields.every(([field, order], at) => key[at]?.[0] === field && String(key[at][1]) === order);
}

async function addDatabase(contents: Contents, database: string, user: User): Promise<void> {
  for (const listed of await user.documents(database, { listCollections: 1 })) {
    const name = String(listed['name']);
    const namespace = `${database}.${name}`;
    if (name.startsWith(bucketsOf(''))) continue;
    const options = effective(listed['options'] as Document);
    contents.set(`${namespace} options`, [text({ type: listed['type'] as unknown, options: sorted(options) })]);
    if (listed['type'] === 'view' || name.startsWith('system.')) continue;
    contents.set(
      `${namespace} indexes`,
      (await user.documents(database, { listIndexes: name })).map((index) => text(sorted(index))).sort(),
    );
    if (listed['type'] === 'timeseries') {
      const buckets = await user.documents(database, { find: bucketsOf(name) });
      contents.set(`${namespace} buckets`, buckets.map(text).sort());
    }
    const documents = (await user.documents(database, { find: name })).map(text);
    contents.set(namespace, options['capped'] === undefined ? documents.sort() : documents);
  }
}

/** Without what says nothing: how strictly a validator is to be applied that is not there. */
function effective(options: Document): Document {
  if (options['validator'] !== undefined) return options;
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => name !== 'validationLevel' && name !== 'validationAction'),
  );
}

/** Fields in the order of their names: options have no order of their own. */
function sorted(document: Document): Document {
  return Object.fromEntries(Object.entries(document).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The bytes of a document, and before them what a person can read. */
function text(document: Document): string {
  const bytes = Buffer.from(BSON.serialize(document));
  return `${BSON.EJSON.stringify(document, { relaxed: false })} ${bytes.toString('base64')}`;
}
