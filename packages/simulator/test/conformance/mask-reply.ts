import type { Asked, Json } from './corpus-file.js';
import type { HostRoles } from './host-roles.js';
import { type Pattern, coversPath, elementPath, fieldPath, host, isAbout } from './pattern.js';
import { patterns } from './patterns.js';
import { isExtended } from './value-forms.js';

/** Whether a value of canonical extended JSON holds no other values. */
export function isLeaf(value: Json): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.length === 0;
  return Object.keys(value).length === 0 || isExtended(value);
}

/** A reply with what patterns cover replaced by their names, and addresses by the parts of their nodes. */
export function maskReply(reply: Json, asked: Asked, roles: HostRoles): Json {
  return masked(reply, '', asked, roles);
}

function masked(value: Json, path: string, asked: Asked, roles: HostRoles): Json {
  const covering = patternsAt(path, asked);
  const whole = covering.find((pattern) => coversWhole(pattern, value));
  if (whole !== undefined) return placeholder(whole);
  if (typeof value === 'string') return maskedText(withRoles(value, roles), covering);
  if (isLeaf(value) || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((each) => masked(each, elementPath(path), asked, roles));
  const document: Record<string, Json> = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = withRoles(name, roles);
    const at = fieldPath(path, name);
    if (!isOmitted(at, asked)) document[field] = masked(inner, at, asked, roles);
  }
  return document;
}

/**
 * The patterns that cover a path, those for single steps or subjects before those for all: where a narrow one takes any
 * value, what stands in its place must not depend on whether a wide one happens to cover that value, too.
 */
export function patternsAt(path: string, asked: Asked): Pattern[] {
  return patternsOf(path).filter((pattern) => isAbout(pattern, asked));
}

/** By path, for any step: the replies of the corpus have few paths, and each of them many times. */
const patternsByPath = new Map<string, readonly Pattern[]>();

function patternsOf(path: string): readonly Pattern[] {
  const known = patternsByPath.get(path);
  if (known !== undefined) return known;
  const covering = patterns.filter((pattern) => coversPath(pattern, path));
  const found = [...covering.filter(isNarrow), ...covering.filter((pattern) => !isNarrow(pattern))];
  patternsByPath.set(path, found);
  return found;
}

function isNarrow({ subjects, steps }: Pattern): boolean {
  return subjects !== undefined || steps !== undefined;
}

/** Whether a pattern stands for the whole value, so that nothing of it is compared. */
export function isCovered(value: Json, path: string, asked: Asked): boolean {
  return isOmitted(path, asked) || patternsAt(path, asked).some((pattern) => coversWhole(pattern, value));
}

/** Where in a text the parts lie that patterns cover: from the first character to the one after the last. */
export function coveredParts(
  text: string,
  path: string,
  asked: Asked,
): { readonly from: number; readonly to: number }[] {
  return patternsAt(path, asked).flatMap((pattern) => {
    if (!('text' in pattern.covers)) return [];
    return [...text.matchAll(pattern.covers.text)].map((found) => ({
      from: found.index,
      to: found.index + found[0].length,
    }));
  });
}

function isOmitted(path: string, asked: Asked): boolean {
  return patternsAt(path, asked).some(({ covers }) => 'omitted' in covers);
}

function coversWhole(pattern: Pattern, value: Json): boolean {
  return 'value' in pattern.covers && pattern.covers.value(value);
}

function placeholder({ name }: Pattern): string {
  return `<${name}>`;
}

function maskedText(text: string, covering: readonly Pattern[]): string {
  let result = text;
  for (const pattern of covering)
    if ('text' in pattern.covers) result = result.replace(pattern.covers.text, placeholder(pattern));
  return result;
}

/** The recorder's word before the names of its sets. */
const recordedPrefix = /^(?:src|A|[abd])-(?=(?:s\d|cfg)\/)/;

/**
 * Addresses of known nodes are compared by the parts of the nodes: the ports are free ones. The recorder named its sets
 * with a word before.
 */
function withRoles(text: string, roles: HostRoles): string {
  return text.replace(host, (found) => {
    const [address = '', set] = found.split('/').reverse();
    const role = roles.get(address);
    if (role === undefined) return found;
    return set === undefined ? `<${role}>` : `${set}/`.replace(recordedPrefix, '') + `<${role}>`;
  });
}
