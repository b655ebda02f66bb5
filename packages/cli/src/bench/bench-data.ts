import { BSON, type Document } from 'mongodb';

/** The collection of the benchmarks. */
export const benchNamespace = { database: 'bench', collection: 'documents' } as const;

/** Fills a document up to 1 kB. */
const padding = 'x'.repeat(930);

/** One document of 1 kB. */
export function benchDocument(id: number): Document {
  return { _id: id, group: id % 1_000, value: id / 7, text: padding };
}

export const benchDocumentBytes = BSON.calculateObjectSize(benchDocument(0));
