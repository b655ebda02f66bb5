import { readFileSync } from 'node:fs';
import { ConvoyError } from '../errors/convoy-error.js';
import type { OriginOf } from './config-problems.js';

/** Longer than any connection string or password. */
const fileBytesMax = 64 * 1024;
/** Deeper than any setting. */
const depthMax = 8;

/**
 * Replaces every `{file: PATH}` inside of a value by the content of that file, without its last line break.
 * @param path where the value is in the configuration
 * @throws ConvoyError `invalidConfiguration` when a file is unreadable or too large; the error names neither file nor
 * content, since users put secrets in the wrong place
 */
export function withFileContents(value: unknown, path: readonly PropertyKey[], originOf: OriginOf): unknown {
  if (typeof value !== 'object' || value === null || path.length > depthMax) return value;
  if (Array.isArray(value)) return value.map((item, at) => withFileContents(item, [...path, at], originOf));
  const entries = Object.entries(value);
  const [[key, file] = []] = entries;
  if (entries.length === 1 && key === 'file' && typeof file === 'string') return contentOf(file, originOf(path));
  return Object.fromEntries(entries.map(([name, inner]) => [name, withFileContents(inner, [...path, name], originOf)]));
}

function contentOf(file: string, origin: string): string {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    const { code = 'unreadable' } = cause as NodeJS.ErrnoException;
    throw new ConvoyError(
      'invalidConfiguration',
      `${origin}: the file cannot be read (${code}). Check its path and permissions.`,
      { cause },
    );
  }
  if (Buffer.byteLength(content) > fileBytesMax)
    throw new ConvoyError('invalidConfiguration', `${origin}: the file has more than ${fileBytesMax} bytes.`);
  return content.replace(/\r?\n$/, '');
}
