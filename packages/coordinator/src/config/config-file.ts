import { readFileSync } from 'node:fs';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/**
 * Reads a configuration file.
 * @returns its parsed JSON
 * @throws ConvoyError `invalidConfiguration` when the file is unreadable or not JSON; the error does not repeat its
 * text
 */
export function readConfigFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConvoyError(
      'invalidConfiguration',
      'configuration: the file cannot be read. Check its path and permissions.',
      { cause },
    );
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ConvoyError('invalidConfiguration', 'configuration: the file is not JSON. Correct its syntax.');
  }
}
