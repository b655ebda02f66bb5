import { readFileSync } from 'node:fs';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/**
 * Reads a configuration file.
 * @returns its parsed JSON
 * @throws ConvoyError `invalidConfiguration` when it cannot be read or is not JSON; its text is not shown
 */
export function readConfigFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConvoyError('invalidConfiguration', 'configuration: the file cannot be read.', { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ConvoyError('invalidConfiguration', 'configuration: the file is not JSON.');
  }
}
