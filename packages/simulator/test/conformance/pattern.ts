import type { Asked, Json } from './corpus-file.js';

/** One kind of value that differs between two runs of the same commands. */
export interface Pattern {
  /** What stands in the value's place while replies are compared. */
  readonly name: string;
  /**
   * Fields it covers, as paths inside a reply: `.` between names, `[]` for the elements of an array, `*` for a part of
   * one name, `**` for names at any depth. Field names made of an address are written `{host}`.
   */
  readonly paths: readonly string[];
  /** Steps it covers, by what they ask; none: all. */
  readonly subjects?: readonly string[];
  /** Single steps it covers, as `file:step`; none: all. */
  readonly steps?: readonly string[];
  readonly covers: Cover;
  /** The values are ids: what stands for one recorded id must stand for it everywhere in a run. */
  readonly isPaired?: true;
  /** Why the values cannot be equal. */
  readonly reason: string;
}

type Cover =
  /** The whole value, if it has the type (and form) that this checks. */
  | { readonly value: (value: Json) => boolean }
  /** The parts of a text that match; everything around them is compared. */
  | { readonly text: RegExp }
  /** The field with all it holds, whether it is there or not. */
  | { readonly omitted: true };

/** Whether a pattern covers values at a path of replies, to the steps that it is about. */
export function coversPath(pattern: Pattern, path: string): boolean {
  return pattern.paths.some((each) => matcher(each).test(path));
}

/** Whether something that holds for some subjects or some steps holds for this step. */
export function isAbout(held: Pick<Pattern, 'subjects' | 'steps'>, asked: Asked): boolean {
  return held.subjects?.includes(asked.subject) !== false && held.steps?.includes(asked.step) !== false;
}

const matchers = new Map<string, RegExp>();

function matcher(path: string): RegExp {
  const known = matchers.get(path);
  if (known !== undefined) return known;
  const source = path
    .split('.')
    .map((part) => (part === '**' ? '\u0000' : part.replace(/[$[\]{}]/g, '\\$&').replaceAll('*', '[^.]*')));
  const made = new RegExp(
    `^${source.join('\\.').replaceAll('\u0000\\.', '(?:.*\\.)?').replaceAll('\\.\u0000', '(?:\\..*)?')}$`,
  );
  matchers.set(path, made);
  return made;
}

/** An address, with or without the name of its set before it. */
export const host = /(?:[A-Za-z0-9-]+\/)?127\.0\.0\.1:\d+/g;

/** The path of a field below the one at `path`. */
export function fieldPath(path: string, name: string): string {
  const field = name.replace(host, '{host}');
  return path === '' ? field : `${path}.${field}`;
}

export function elementPath(path: string): string {
  return `${path}[]`;
}
