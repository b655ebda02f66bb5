import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { documentText } from '../../bson/text.js';

/** Options that may differ between two descriptions of the same index. */
const IGNORED: ReadonlySet<string> = new Set(['v', 'name', 'background', 'ns', 'hidden']);

/** Indexes with their descriptions. */
interface Described {
  readonly indexes: readonly { readonly definition: { readonly spec: Doc } }[];
}

/**
 * Compares a requested index with existing ones: first with the one of its name, then with a similar one.
 * @throws CommandError 85 or 86 where it equals neither and conflicts
 */
export function isPresent(version: ServerVersion, requested: Doc, { indexes }: Described): boolean {
  const existing = indexes.map(({ definition }) => definition.spec);
  const like = signature(version, requested);
  const named = existing.find((spec) => nameOf(spec) === nameOf(requested));
  const found = named ?? existing.find((spec) => signature(version, spec) === like);
  if (found === undefined) return false;
  const [wanted, present] = [requested, found].map((spec) => documentText(shownSpec(spec)));
  const both = `Requested index: ${wanted}, existing index: ${present}`;
  if (signature(version, found) !== like) {
    throw new CommandError(
      86,
      'IndexKeySpecsConflict',
      'An existing index has the same name as the requested index. When index names are not specified, they ' +
        `are auto generated and can cause conflicts. Please refer to our documentation. ${both}`,
    );
  }
  const sameOptions = optionsText(requested) === optionsText(found);
  if (sameOptions && named !== undefined) return true;
  if (sameOptions) throw optionsConflict(`Index already exists with a different name: ${nameOf(found)}`);
  throw optionsConflict(
    'An equivalent index already exists with ' +
      `${named === undefined ? 'a different name and' : 'the same name but different'} options. ${both}`,
  );
}

function optionsConflict(message: string): CommandError {
  return new CommandError(85, 'IndexOptionsConflict', message);
}

function nameOf(spec: Doc): string {
  const name = spec.get('name');
  return typeof name === 'string' ? name : '';
}

/** What distinguishes indexes: key and collation, and since 5.0 the partial filter, uniqueness and sparseness. */
function signature(version: ServerVersion, spec: Doc): string {
  const key = spec.get('key');
  const orders = key instanceof Map ? [...key].map(([path, order]) => `${path}:${orderText(order)}`).join() : '';
  const parts = [spec.get('collation'), spec.get('partialFilterExpression')].map(documentKey).join('|');
  return version.atLeast(5, 0)
    ? `${orders}|${parts}|${isTrue(spec.get('unique'))}|${isTrue(spec.get('sparse'))}`
    : `${orders}|${documentKey(spec.get('collation'))}`;
}

function orderText(order: Value): string {
  return typeof order === 'string' ? order : (numberOf(order) ?? 0) < 0 ? '-1' : '1';
}

function optionsText(spec: Doc): string {
  return [...spec]
    .filter(([name, value]) => !IGNORED.has(name) && name !== 'key' && value !== false)
    .map(([name, value]) => `${name}=${numberOf(value) ?? documentKey(value)}`)
    .sort()
    .join();
}

function documentKey(value: Value | undefined): string {
  return value === undefined ? '' : encodeDocument(new Map([['', value]])).toString('latin1');
}

/** As messages show a description: uniqueness and hidden before the key. */
export function shownSpec(spec: Doc): Doc {
  const first = ['unique', 'hidden'].filter((name) => isTrue(spec.get(name)));
  const rest = [...spec].filter(([name]) => name !== 'v' && !first.includes(name));
  return new Map<string, Value>([
    ['v', spec.get('v') ?? null],
    ...first.map((name): [string, Value] => [name, true]),
    ...rest,
  ]);
}
