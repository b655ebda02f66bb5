import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { documentText } from '../../bson/text.js';

/** Options that may differ between two descriptions of the same index. */
const IGNORED: ReadonlySet<string> = new Set(['v', 'name', 'background', 'ns', 'hidden']);

/**
 * Compares a requested index with one that is there.
 * @returns true when it is the same index, false when both can stand side by side
 * Throws CommandError 85 or 86 when they cannot.
 */
export function sameIndex(version: ServerVersion, requested: Doc, existing: Doc): boolean {
  const sameName = requested.get('name') === existing.get('name');
  const sameSignature = signature(version, requested) === signature(version, existing);
  if (!sameName && !sameSignature) return false;
  if (!sameName) {
    throw new CommandError(85, 'IndexOptionsConflict', `Index already exists with a different name: ${nameOf(existing)}`);
  }
  const both = `Requested index: ${documentText(shownSpec(requested))}, existing index: ${documentText(shownSpec(existing))}`;
  if (!sameSignature) {
    throw new CommandError(
      86,
      'IndexKeySpecsConflict',
      `An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. ${both}`,
    );
  }
  if (optionsText(requested) === optionsText(existing)) return true;
  throw new CommandError(85, 'IndexOptionsConflict', `An equivalent index already exists with the same name but different options. ${both}`);
}

function nameOf(spec: Doc): string {
  const name = spec.get('name');
  return typeof name === 'string' ? name : '';
}

/** What tells indexes apart: key and collation, and since 5.0 the partial filter, uniqueness and sparseness. */
function signature(version: ServerVersion, spec: Doc): string {
  const key = spec.get('key');
  const orders = key instanceof Map ? [...key].map(([path, order]) => `${path}:${orderText(order)}`).join() : '';
  const parts = [spec.get('collation'), spec.get('partialFilterExpression')].map(documentKey).join('|');
  return version.atLeast(5, 0) ? `${orders}|${parts}|${isTrue(spec.get('unique'))}|${isTrue(spec.get('sparse'))}` : `${orders}|${documentKey(spec.get('collation'))}`;
}

function orderText(order: Value): string {
  return typeof order === 'string' ? order : (numberOf(order) ?? 0) < 0 ? '-1' : '1';
}

function optionsText(spec: Doc): string {
  return [...spec]
    .filter(([name]) => !IGNORED.has(name) && name !== 'key')
    .map(([name, value]) => `${name}=${numberOf(value) ?? documentKey(value)}`)
    .sort()
    .join();
}

function documentKey(value: Value | undefined): string {
  return value === undefined ? '' : encodeDocument(new Map([['', value]])).toString('latin1');
}

/** As messages show a description: uniqueness and whether it is hidden before the key. */
export function shownSpec(spec: Doc): Doc {
  const first = ['unique', 'hidden'].filter((name) => isTrue(spec.get(name)));
  const rest = [...spec].filter(([name]) => name !== 'v' && !first.includes(name));
  return new Map<string, Value>([['v', spec.get('v') ?? null], ...first.map((name): [string, Value] => [name, true]), ...rest]);
}
