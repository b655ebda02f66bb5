import { BSONRegExp, BSONSymbol } from 'bson';
import type { Value } from '../bson/value.js';
import { located } from './query-error.js';

const OPTIONS = /^[imsxu]*$/;
const CLASS_OR_ESCAPE_OR_SPACE = /\\.|\[(?:\\.|[^\]\\])*\]|\s+|#.*$/gm;

/**
 * Compiles a pattern of the server's dialect (PCRE), as far as JavaScript's dialect agrees.
 * @throws CommandError 51108 for unknown options, 51091 for an invalid pattern
 */
export function compileRegex(pattern: string, options: string): RegExp {
  if (!OPTIONS.test(options)) throw located(51108, `invalid flag in regex options: ${options}`);
  const { source, flags } = withInlineFlags(pattern, options);
  const extended = flags.includes('x') ? source.replace(CLASS_OR_ESCAPE_OR_SPACE, keepClassesAndEscapes) : source;
  const kept = [...new Set(flags)].filter((flag) => 'ims'.includes(flag)).join('');
  try {
    return new RegExp(extended, `${kept}u`);
  } catch {
    return compileLoosely(extended, kept);
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

function withInlineFlags(pattern: string, options: string): { source: string; flags: string } {
  const inline = /^\(\?([imsx]+)\)/.exec(pattern);
  return inline === null
    ? { source: pattern, flags: options }
    : { source: pattern.slice(inline[0].length), flags: options + (inline[1] ?? '') };
}

function keepClassesAndEscapes(token: string): string {
  return token.startsWith('\\') || token.startsWith('[') ? token : '';
}
