import type { Json } from '../conformance/corpus-file.js';
import { isExtended } from '../conformance/value-forms.js';
import type { Numbered } from './case.js';

/** Whether a shorter case still shows the difference. */
export type Shows = (commands: readonly Numbered[]) => Promise<boolean>;

/**
 * Makes a case that shows a difference small: takes commands away, halves first, then parts of what they carry,
 * as long as the difference stays.
 * @param triesMax shorter cases that are tried
 */
export async function shrink(
  commands: readonly Numbered[],
  triesMax: number,
  shows: Shows,
): Promise<readonly Numbered[]> {
  const budget = { tries: triesMax };
  const tried: Shows = async (candidate) => {
    budget.tries -= 1;
    return budget.tries >= 0 && (await shows(candidate));
  };
  let [smallest, before] = [await withoutCommands(commands, tried), -1];
  while (budget.tries > 0 && before !== sizeOf(smallest)) {
    before = sizeOf(smallest);
    smallest = await withoutParts(await withoutCommands(smallest, tried), tried);
  }
  return smallest;
}

function sizeOf(commands: readonly Numbered[]): number {
  return JSON.stringify(commands).length;
}

async function withoutCommands(commands: readonly Numbered[], shows: Shows): Promise<readonly Numbered[]> {
  let left = commands;
  for (let length = Math.ceil(left.length / 2); length >= 1; length = Math.floor(length / 2)) {
    for (let from = left.length - length; from >= 0; from -= length) {
      const candidate = [...left.slice(0, from), ...left.slice(from + length)];
      if (candidate.length > 0 && (await shows(candidate))) left = candidate;
    }
  }
  return left;
}

/** Takes the commands' parts away one by one, the last commands first: the largest parts before those within them. */
async function withoutParts(commands: readonly Numbered[], shows: Shows): Promise<readonly Numbered[]> {
  let left = commands;
  for (let at = left.length - 1; at >= 0; at -= 1) {
    for (let index = 0; ; index += 1) {
      const now = left[at];
      const smaller = now === undefined ? undefined : nth(smallerForms(now.command), index);
      if (now === undefined || smaller === undefined) break;
      const candidate = left.with(at, { ...now, command: smaller });
      if (await shows(candidate)) [left, index] = [candidate, index - 1];
    }
  }
  return left;
}

function nth<T>(of: Iterable<T>, index: number): T | undefined {
  let at = 0;
  for (const each of of) if (at++ === index) return each;
  return undefined;
}

/**
 * A value with one part less or simpler, each in turn. What stands for a value of another type is one part.
 * Texts stay: a shortened name of a collection would be that of another one. A sort
 * stays: without it the order would be open.
 */
function* smallerForms(value: Json): Generator<Json> {
  if (value === null || typeof value !== 'object') return;
  if (Array.isArray(value)) {
    for (const index of value.keys()) yield value.toSpliced(index, 1);
    for (const [index, inner] of value.entries())
      for (const smaller of smallerForms(inner)) yield value.with(index, smaller);
    return;
  }
  if (isExtended(value)) {
    yield 1;
    return;
  }
  const fields = Object.entries(value);
  const others = fields.filter(([name]) => name !== 'sort');
  for (const [name] of others) yield Object.fromEntries(fields.filter(([each]) => each !== name));
  for (const [name, inner] of others)
    for (const smaller of smallerForms(inner))
      yield Object.fromEntries(fields.map(([each, kept]) => [each, each === name ? smaller : kept]));
}
