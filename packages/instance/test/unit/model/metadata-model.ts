import { BSON, type Document, Timestamp } from 'mongodb';
import { Metadata } from '../../../src/store/metadata.js';
import { clientWith } from './client-with.js';
import { once } from './parts.js';

/** The metadata database: documents by `_id`, and the few commands and operators that Convoy uses there. */
export class MetadataModel {
  readonly #collections = new Map<string, Map<unknown, Document>>();

  documents(collection: string): Document[] {
    return [...this.#collection(collection).values()];
  }

  run(command: Document): Document {
    const [name, collection] = Object.entries(command)[0] ?? [];
    const documents = this.#collection(String(collection));
    switch (name) {
      case 'find':
        return { cursor: { firstBatch: this.#find(documents, command) } };
      case 'update':
        return this.#updates(documents, command.updates as Document[]);
      case 'findAndModify':
        return { value: this.#modify(documents, command) };
      case 'count':
        return { n: [...documents.values()].filter((document) => matches(document, command.query as Document)).length };
      case 'delete':
        return this.#deletes(documents, command.deletes as Document[]);
      default:
        throw new Error(`the model's metadata has no ${String(name)}`);
    }
  }

  #collection(name: string): Map<unknown, Document> {
    const found = this.#collections.get(name) ?? new Map<unknown, Document>();
    this.#collections.set(name, found);
    return found;
  }

  #find(documents: ReadonlyMap<unknown, Document>, command: Document): Document[] {
    const found = [...documents.values()].filter((document) => matches(document, command.filter as Document));
    const sorted = found.sort((a, b) => (String(a._id) < String(b._id) ? -1 : 1));
    return sorted.slice(0, Number(command.limit)).map((document) => BSON.deserialize(BSON.serialize(document)));
  }

  #updates(documents: Map<unknown, Document>, updates: readonly Document[]): Document {
    let n = 0;
    const writeErrors: Document[] = [];
    for (const [index, { q, u, upsert, multi }] of updates.entries()) {
      const found = [...documents.values()].filter((document) => matches(document, q as Document));
      for (const document of multi === true ? found : found.slice(0, 1)) {
        documents.set(document._id, changed(document, u as Document, false));
        n += 1;
      }
      if (found.length > 0 || upsert !== true) continue;
      if (documents.has((q as Document)._id)) writeErrors.push({ index, code: 11000 });
      else n += this.#insert(documents, q as Document, u as Document);
    }
    return { n, ...(writeErrors.length > 0 ? { writeErrors } : {}) };
  }

  #insert(documents: Map<unknown, Document>, filter: Document, update: Document): number {
    const equalities = Object.entries(filter).filter(([, condition]) => typeof condition !== 'object');
    const document = changed(Object.fromEntries(equalities), update, true);
    documents.set(document._id, document);
    return 1;
  }

  #modify(documents: Map<unknown, Document>, command: Document): Document | null {
    const query = command.query as Document;
    const _id = [...documents.values()].find((document) => matches(document, query))?._id as unknown;
    this.#updates(documents, [{ q: query, u: command.update as Document, upsert: command.upsert as boolean }]);
    return this.#find(documents, { filter: _id === undefined ? query : { _id }, limit: 1 })[0] ?? null;
  }

  #deletes(documents: Map<unknown, Document>, deletes: readonly Document[]): Document {
    let n = 0;
    for (const { q } of deletes) {
      for (const document of [...documents.values()]) {
        if (matches(document, q as Document) && documents.delete(document._id)) n += 1;
      }
    }
    return { n };
  }
}

/** The metadata as a process reads and writes it in the model, without failures. */
export function metadataIn(model: MetadataModel): Metadata {
  return new Metadata(clientWith({ command: (_database, sent) => Promise.resolve(model.run(sent)) }), once);
}

function matches(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([field, condition]: [string, unknown]) => {
    if (field === '$and') return (condition as Document[]).every((part) => matches(document, part));
    if (field === '$nor') return !(condition as Document[]).some((part) => matches(document, part));
    const value = field
      .split('.')
      .reduce<unknown>((inner, name) => (inner as Document | null | undefined)?.[name], document);
    // As servers do, null matches an absent field, too.
    if (typeof condition !== 'object' || condition === null) return (value ?? null) === condition;
    if ('$in' in condition) return (condition.$in as unknown[]).includes(value);
    if ('$lte' in condition) return typeof value === 'number' && value <= Number(condition.$lte);
    if ('$lt' in condition) return typeof value === 'number' && value < Number(condition.$lt);
    if ('$gte' in condition) return typeof value === 'number' && value >= Number(condition.$gte);
    if ('$gt' in condition && typeof condition.$gt === 'number')
      return typeof value === 'number' && value > condition.$gt;
    if ('$gt' in condition) return String(value) > String(condition.$gt);
    throw new Error(`the model's metadata has no condition ${JSON.stringify(condition)}`);
  });
}

function changed(document: Document, update: Document, inserts: boolean): Document {
  if (!Object.keys(update).some((name) => name.startsWith('$'))) return { ...update, _id: document._id as unknown };
  const after = { ...document };
  for (const [path, value] of Object.entries((update.$set as Document | undefined) ?? {}))
    upsert(after, path.split('.'), () => value);
  if (inserts) Object.assign(after, update.$setOnInsert);
  for (const [path, value] of Object.entries((update.$max as Document | undefined) ?? {}))
    upsert(after, path.split('.'), (present) => (isAbove(value, present) ? value : present));
  for (const [field, by] of Object.entries((update.$inc as Document | undefined) ?? {}))
    after[field] = Number(after[field] ?? 0) + Number(by);
  return after;
}

/** Changes a field, in a document or in one inside it. */
function upsert(document: Document, [field = '', ...rest]: string[], change: (present: unknown) => unknown): void {
  if (rest.length === 0) document[field] = change(document[field]);
  else upsert((document[field] = { ...(document[field] as Document | undefined) }), rest, change);
}

/** `$max` of numbers and times. */
function isAbove(value: unknown, present: unknown): boolean {
  if (present === undefined || present === null) return true;
  return value instanceof Timestamp && present instanceof Timestamp
    ? value.greaterThan(present)
    : Number(value) > Number(present);
}
