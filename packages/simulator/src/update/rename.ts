import { valueText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { arrayIndex, splitPath } from '../query/document-path.js';
import { badValue } from '../query/query-error.js';

/**
 * The value that a rename takes from its path, through arrays too, which `refuseArrays` refuses. Undefined for a
 * missing one.
 * @throws CommandError 28 for a path through a value that has no fields
 */
export function renamedValue(doc: Doc, path: string): Value | undefined {
  let value: Value | undefined = doc;
  const names = splitPath(path);
  for (const [at, name] of names.entries()) {
    const next: Value | undefined = inside(value, name);
    if (next === undefined && !isViable(value, name)) {
      const part = names[at - 1] ?? '';
      throw new CommandError(
        28,
        'PathNotViable',
        `cannot use the part (${part} of ${path}) to traverse the element ({${part}: ${valueText(value)}})`,
      );
    }
    if (next === undefined) return undefined;
    value = next;
  }
  return value;
}

function inside(value: Value, name: string): Value | undefined {
  if (value instanceof Map) return value.get(name);
  const index = arrayIndex(name);
  return Array.isArray(value) && index !== undefined ? value[index] : undefined;
}

function isViable(value: Value, name: string): boolean {
  return value instanceof Map || (Array.isArray(value) && arrayIndex(name) !== undefined);
}

/** `$rename` does not reach into arrays. @throws CommandError 2 */
export function refuseArrays(before: Doc, path: string, role: 'source' | 'destination'): void {
  let value: Value | undefined = before;
  let innermost: string | undefined;
  let name = '';
  for (const next of splitPath(path)) {
    if (Array.isArray(value)) innermost = name;
    value = value === undefined ? undefined : inside(value, next);
    name = next;
  }
  if (innermost === undefined) return;
  const id = before.has('_id') ? `_id: ${valueText(before.get('_id') ?? null)}` : 'no id';
  throw badValue(
    `The ${role} field cannot be an array element, '${path}' in doc with ${id} has an array field called ` +
      `'${innermost}'`,
  );
}
