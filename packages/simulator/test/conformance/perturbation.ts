import type { Asked, Json } from './corpus-file.js';
import type { Leaf } from './leaves.js';
import { coveredParts } from './mask-reply.js';

export const perturbationKinds = ['value', 'type', 'missing'] as const;
type PerturbationKind = (typeof perturbationKinds)[number];

/**
 * A copy of an outcome with one leaf changed: to another value of its type, to a value of another type, or left out.
 * @param random gives numbers from 0 to below 1
 */
export function perturbed(outcome: Json, leaf: Leaf, kind: PerturbationKind, asked: Asked, random: () => number): Json {
  const copy = structuredClone(outcome);
  const last = leaf.steps.at(-1);
  let parent = copy as Record<string | number, Json>;
  for (const step of leaf.steps.slice(0, -1)) parent = parent[step] as Record<string | number, Json>;
  if (last === undefined) return otherType(outcome);
  if (kind !== 'missing') parent[last] = kind === 'value' ? otherValue(leaf, asked, random) : otherType(leaf.value);
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else Reflect.deleteProperty(parent, last);
  return copy;
}

function otherValue(leaf: Leaf, asked: Asked, random: () => number): Json {
  const { value } = leaf;
  if (typeof value === 'string') return otherText(leaf, value, asked, random);
  if (typeof value === 'boolean') return !value;
  if (value === null) return otherType(value);
  if (Array.isArray(value)) return [null];
  if (typeof value !== 'object') return value + 1;
  const [type] = Object.keys(value);
  return type === undefined ? { added: null } : otherOfType(type, value[type] ?? null);
}

function otherOfType(type: string, inner: Json): Json {
  switch (type) {
    case '$numberInt':
    case '$numberLong':
      return { [type]: (BigInt(inner as string) + 1n).toString() };
    case '$numberDouble':
    case '$numberDecimal':
      return { [type]: inner === '7.5' ? '8.5' : '7.5' };
    case '$timestamp': {
      const { t, i } = inner as { t: number; i: number };
      return { $timestamp: { t, i: i + 1 } };
    }
    case '$date':
      return { $date: { $numberLong: (BigInt((inner as { $numberLong: string }).$numberLong) + 1n).toString() } };
    case '$oid':
      return { $oid: flippedHex(inner as string) };
    case '$binary':
      return otherBinary(inner as { base64: string; subType: string });
    case '$minKey':
    case '$maxKey':
    case '$undefined':
      return null;
    default:
      return { [type]: typeof inner === 'string' ? `${inner}~` : null };
  }
}

function flippedHex(hex: string): string {
  return hex.slice(0, -1) + (parseInt(hex.slice(-1), 16) ^ 1).toString(16);
}

function otherBinary({ base64, subType }: { base64: string; subType: string }): Json {
  const bytes = Buffer.from(base64, 'base64');
  const changed =
    bytes.length === 0 ? Buffer.from([0]) : Buffer.from(bytes.map((byte, at) => (at === 0 ? byte ^ 1 : byte)));
  return { $binary: { base64: changed.toString('base64'), subType } };
}

/** One character changed, outside of the parts that patterns cover. */
function otherText({ path }: Leaf, text: string, asked: Asked, random: () => number): string {
  const covered = coveredParts(text, path, asked);
  const free = Array.from({ length: text.length }, (_, at) => at).filter(
    (at) => !covered.some(({ from, to }) => at >= from && at < to),
  );
  const at = free[Math.floor(random() * free.length)];
  if (at === undefined) return `${text}~`;
  return text.slice(0, at) + (text[at] === '~' ? '^' : '~') + text.slice(at + 1);
}

/** A value of the next type: an int becomes a long of the same number, and so on. */
function otherType(value: Json): Json {
  if (value === null) return '';
  if (typeof value !== 'object' || Array.isArray(value)) return null;
  const { $numberInt: int, $numberLong: long, $numberDouble: double } = value;
  if (int !== undefined) return { $numberLong: int };
  if (typeof long === 'string') return { $numberDouble: `${long}.0` };
  if (double !== undefined) return { $numberInt: Math.trunc(Number(double)).toString() };
  return null;
}

/** A generator of numbers from 0 to below 1 that a seed repeats (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
