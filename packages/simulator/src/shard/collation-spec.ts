import { Int32 } from 'bson';
import { parseCollation } from '../bson/collation.js';
import type { Doc, Value } from '../bson/value.js';

/** The ICU version that MongoDB 5.0 reports with its collations. */
const COLLATOR_VERSION = '57.1';

/**
 * A collation with all its fields, as catalogs show it; undefined for the simple one.
 * Throws CommandError for unknown locales and values.
 */
export function completeCollation(requested: Doc): Doc | undefined {
  if (parseCollation(requested) === undefined) return undefined;
  const field = (name: string, byDefault: Value): [string, Value] => [name, requested.get(name) ?? byDefault];
  return new Map<string, Value>([
    ['locale', requested.get('locale') ?? ''],
    field('caseLevel', false),
    field('caseFirst', 'off'),
    field('strength', new Int32(3)),
    field('numericOrdering', false),
    field('alternate', 'non-ignorable'),
    field('maxVariable', 'punct'),
    field('normalization', false),
    field('backwards', false),
    ['version', COLLATOR_VERSION],
  ]);
}
