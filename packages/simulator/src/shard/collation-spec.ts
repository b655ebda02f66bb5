import { Int32 } from 'bson';
import { parseCollation } from '../bson/collation.js';
import type { Doc, Value } from '../bson/value.js';

/** The ICU version that MongoDB 5.0 reports with its collations. */
const COLLATOR_VERSION = '57.1';

const defaults: readonly (readonly [string, Value])[] = [
  ['caseLevel', false],
  ['caseFirst', 'off'],
  ['strength', new Int32(3)],
  ['numericOrdering', false],
  ['alternate', 'non-ignorable'],
  ['maxVariable', 'punct'],
  ['normalization', false],
];

/** A collation as `create` reads it: with defaults. */
export function readCollation(requested: Doc): Doc {
  const fields = defaults.map(([name, byDefault]): [string, Value] => [name, requested.get(name) ?? byDefault]);
  const others = ['backwards', 'version'].flatMap((name): [string, Value][] =>
    requested.has(name) ? [[name, requested.get(name) ?? null]] : [],
  );
  return new Map([['locale', requested.get('locale') ?? ''], ...fields, ...others]);
}

/**
 * A collation with all its fields, as in catalogs. Undefined for the simple one.
 * @param shown as a refusal shows it
 * @throws CommandError for unknown locales and values
 */
export function completeCollation(requested: Doc, shown = requested): Doc | undefined {
  if (parseCollation(requested, shown) === undefined) return undefined;
  return readCollation(requested)
    .set('backwards', requested.get('backwards') ?? false)
    .set('version', COLLATOR_VERSION);
}
