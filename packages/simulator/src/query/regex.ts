import { BSONRegExp, BSONSymbol } from 'bson';
import type { Value } from '../bson/value.js';
import { unsimulated } from '../node/unsimulated.js';
import { located } from './query-error.js';

const OPTIONS = /^[imsxu]*$/;
const INLINE = /^\(\?[imsx]+\)/;

/**
 * Compiles a pattern of the server's dialect (PCRE), as far as JavaScript's dialect agrees.
 * @throws CommandError 51108 for unknown options, 51091 for an invalid pattern, 115 for what is not simulated
 */
export function compileRegex(pattern: string, options: string): RegExp {
  if (!OPTIONS.test(options)) throw located(51108, `invalid flag in regex options: ${options}`);
  if (options.includes('x') || INLINE.test(pattern))
    throw unsimulated('a regular expression that ignores white space or has its options in it');
  const kept = [...new Set(options)].filter((flag) => 'ims'.includes(flag)).join('');
  try {
    return new RegExp(pattern, `${kept}u`);
  } catch {
    return compileLoosely(pattern, kept);
  }
}

/** A test for values that a regular expression in a query matches: texts, and the same expression stored as a value. */
export function regexTest(pattern: string, options: string): (value: Value | undefined) => boolean {
  const regex = compileRegex(pattern, options);
  return (value) => {
    if (typeof value === 'string') return regex.test(value);
    if (value instanceof BSONSymbol) return regex.test(value.value);
    return value instanceof BSONRegExp && value.pattern === pattern && value.options === options;
  };
}

/** Patterns with escapes that Unicode mode forbids are tried without it. */
function compileLoosely(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw located(51091, `Regular expression is invalid: ${error instanceof Error ? error.message : source}`);
  }
}
