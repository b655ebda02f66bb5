import { CommandError } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';
import { Double, Int32, Long } from 'bson';
import { documentText } from './text.js';
import type { Doc } from './value.js';

/** How strings are compared. Absent: byte by byte (the server's simple collation). */
export interface Collation {
  readonly locale: string;
  /** 1 base letters, 2 accents too, 3 case too (default). 4 and 5 order as 3 here. */
  readonly strength: number;
  /** @returns negative, 0 or positive */
  compare(a: string, b: string): number;
  /** A text that is equal for strings that compare equal; for hashing and grouping. */
  canonical(text: string): string;
}

const STRENGTH_DEFAULT = 3;
const STRENGTH_MAX = 5;
const sensitivities = ['base', 'base', 'accent'] as const;

/**
 * Reads a command's `collation` document.
 * @param shown as a refusal shows it
 * @returns undefined for the simple collation
 * @throws CommandError 2 (BadValue) for an unknown locale or strength, 40414 without locale
 */
export function parseCollation(spec: Doc, shown = spec): Collation | undefined {
  const locale = spec.get('locale');
  if (locale === undefined)
    throw new CommandError(40414, 'Location40414', "BSON field 'Collation.locale' is missing but a required field");
  if (typeof locale !== 'string')
    throw new CommandError(
      14,
      'TypeMismatch',
      "BSON field 'Collation.locale' is the wrong type, expected type 'string'",
    );
  if (locale === 'simple') return undefined;
  const strength = numberOption(spec, 'strength') ?? STRENGTH_DEFAULT;
  if (!Number.isInteger(strength) || strength < 1 || strength > STRENGTH_MAX) {
    throw new CommandError(
      51024,
      'Location51024',
      `BSON field 'strength' value must be >= 1 and <= ${STRENGTH_MAX}, actual value '${strength}'`,
    );
  }
  const collator = makeCollator(locale, strength, spec, shown);
  return {
    locale,
    strength,
    compare: (a, b) => collator.compare(a, b),
    canonical: (text) => canonicalText(text, locale, strength),
  };
}

function makeCollator(locale: string, strength: number, spec: Doc, shown: Doc): Intl.Collator {
  const caseFirst = spec.get('caseFirst');
  try {
    const options: Intl.CollatorOptions = {
      sensitivity: spec.get('caseLevel') === true && strength === 1 ? 'case' : (sensitivities[strength] ?? 'variant'),
      numeric: spec.get('numericOrdering') === true,
      ignorePunctuation: spec.get('alternate') === 'shifted',
    };
    if (typeof caseFirst === 'string' && (caseFirst === 'upper' || caseFirst === 'lower'))
      options.caseFirst = caseFirst;
    const tag = languageTag(locale);
    if (Intl.Collator.supportedLocalesOf(tag).length > 0) return new Intl.Collator(tag, options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new CommandError(2, 'BadValue', `Field 'locale' is invalid in: ${documentText(shown)}`);
}

/** ICU's name of a locale, such as `de_AT`, as a language tag. @throws CommandError 115 for one with a variant */
function languageTag(locale: string): string {
  if (locale.includes('@')) throw unsimulated(`the collation ${locale}`);
  return locale.replaceAll('_', '-').replace(/-POSIX$/, '-u-va-posix');
}

function canonicalText(text: string, locale: string, strength: number): string {
  const tag = languageTag(locale);
  if (strength === 1) return text.normalize('NFD').replace(/\p{M}/gu, '').toLocaleLowerCase(tag);
  return strength === 2 ? text.normalize('NFC').toLocaleLowerCase(tag) : text.normalize('NFC');
}

function numberOption(spec: Doc, name: string): number | undefined {
  const value = spec.get(name);
  return value instanceof Int32 || value instanceof Double || value instanceof Long
    ? Number(value.valueOf())
    : undefined;
}
