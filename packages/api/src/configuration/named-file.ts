import { readFileSync } from 'node:fs';
import { ConvoyError } from '../errors/convoy-error.js';

/**
 * Reads a file that the user has named.
 * @param what names it in the description, for example `--ca-file`
 * @throws ConvoyError `invalidConfiguration`
 */
export function readNamedFile(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new ConvoyError('invalidConfiguration', `${what}: the file cannot be read. Check its path and permissions.`, {
      cause,
    });
  }
}
