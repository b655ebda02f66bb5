import { Random } from '../../demo/random.js';

export type OperationKind = 'insert' | 'update' | 'replace' | 'delete';

/** Shares of the kinds of operations; they need not add up to 1. */
export type Mix = Readonly<Record<OperationKind, number>>;

/** A repeatable sequence of single-document operations on documents with whole numbers as `_id`. */
export interface ApplyWorkload {
  database: string;
  collection: string;
  /** Size of one document. */
  documentBytes: number;
  /** Documents before the first operation, with `_id`s from 0. */
  documents: number;
  operations: number;
  mix: Mix;
  /** Part of the updates and replacements that meet the same few documents; 0 spreads all of them evenly. */
  hotFraction: number;
  seed: number;
}

/** One operation; the document that it leaves behind is told by `_id` and version alone. */
export interface Operation {
  kind: OperationKind;
  id: number;
  /** Position in the sequence, from 1; documents from before have 0. */
  version: number;
}

/** As many documents are hot. */
const hotDocuments = 20;

/** All operations in their order. None fails: inserts are of new `_id`s, all others of documents that are there. */
export function operationsOf(workload: ApplyWorkload): Operation[] {
  const random = new Random(workload.seed);
  const hot = workload.hotFraction > 0 ? Math.min(hotDocuments, workload.documents) : 0;
  const live = Array.from({ length: workload.documents - hot }, (_, index) => hot + index);
  const operations: Operation[] = [];
  let next = workload.documents;
  for (let version = 1; version <= workload.operations; version += 1) {
    const wanted = pickKind(workload.mix, random);
    const kind = live.length === 0 && wanted !== 'insert' ? 'insert' : wanted;
    if (kind === 'insert') {
      live.push(next);
      operations.push({ kind, id: next, version });
      next += 1;
    } else {
      const isHot = kind !== 'delete' && hot > 0 && random.next() < workload.hotFraction;
      operations.push({ kind, id: isHot ? random.below(hot) : takeLive(live, kind === 'delete', random), version });
    }
  }
  return operations;
}

function pickKind(mix: Mix, random: Random): OperationKind {
  const kinds = Object.entries(mix) as [OperationKind, number][];
  let left = random.next() * kinds.reduce((sum, [, fraction]) => sum + fraction, 0);
  for (const [kind, fraction] of kinds) {
    left -= fraction;
    if (left < 0) return kind;
  }
  throw new RangeError('a mix without operations');
}

function takeLive(live: number[], removes: boolean, random: Random): number {
  const index = random.below(live.length);
  const id = live[index] ?? 0;
  if (removes) {
    live[index] = live.at(-1) ?? 0;
    live.pop();
  }
  return id;
}
