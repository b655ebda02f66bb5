import type { Asked, Json } from './corpus-file.js';
import { isCovered, isLeaf } from './mask-reply.js';
import { elementPath, fieldPath } from './pattern.js';

/** A value of an outcome that holds no others, and the names and numbers that lead to it. */
export interface Leaf {
  readonly steps: readonly (string | number)[];
  /** The path as patterns write it. */
  readonly path: string;
  readonly value: Json;
}

/** All leaves of an outcome that no pattern covers as a whole, neither by themselves nor with what they stand in. */
export function comparedLeaves(outcome: Json, asked: Asked): Leaf[] {
  const leaves: Leaf[] = [];
  collect(outcome, '', [], asked, leaves);
  return leaves;
}

function collect(value: Json, path: string, steps: readonly (string | number)[], asked: Asked, into: Leaf[]): void {
  if (isCovered(value, path, asked)) return;
  if (isLeaf(value) || value === null || typeof value !== 'object') {
    into.push({ steps, path, value });
  } else if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) collect(inner, elementPath(path), [...steps, at], asked, into);
  } else {
    for (const [name, inner] of Object.entries(value))
      collect(inner, fieldPath(path, name), [...steps, name], asked, into);
  }
}
