import { Random } from '@convoy/cli/demo/random';
import type { BenchCollection } from '../copy/bench-documents.js';

export type OperationKind = 'insert' | 'update' | 'replace' | 'delete';

/** Weights of the kinds of operations; they need not add up to 1. */
export type Mix = Readonly<Record<OperationKind, number>>;

/** A reproducible sequence of single-document operations on documents with whole numbers as `_id`. */
export interface ApplyWorkload extends BenchCollection {
  operations: number;
  mix: Mix;
  /** Part of the updates and replacements on the hot documents, the first ones; 0 spreads all evenly. */
  hotFraction: number;
  hotDocuments: number;
  /** What an update of a hot document changes: its value by default. */
  hotChange?: HotChange;
}

/** A field of an embedded document, or a field that is set and removed in turn. */
export type HotChange = 'nested' | 'present';

/** One operation; `_id` and version determine its resulting document. */
export interface Operation {
  kind: OperationKind;
  id: number;
  /** Position in the sequence, from 1; initial documents have 0. */
  version: number;
  isHot?: boolean;
}

/** All operations in order. None fails: inserts have new `_id`s, all others hit existing documents. */
export function operationsOf(workload: ApplyWorkload): Operation[] {
  const random = new Random(1);
  const hot = workload.hotFraction > 0 ? Math.min(workload.hotDocuments, workload.documents) : 0;
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
      const id = isHot ? random.below(hot) : takeLive(live, kind === 'delete', random);
      operations.push({ kind, id, version, ...(isHot ? { isHot } : {}) });
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
