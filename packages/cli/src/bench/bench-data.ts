import { BSON, type Document } from 'mongodb';

/** The collection that benchmarks work on. */
export const benchNamespace = { database: 'bench', collection: 'documents' } as const;

/** Makes a document 1 KB long. */
const padding = 'x'.repeat(930);

/** One document of 1 KB. */
export function benchDocument(id: number): Document {
  return { _id: id, group: id % 1_000, value: id / 7, text: padding };
}

export const benchDocumentBytes = BSON.calculateObjectSize(benchDocument(0));
