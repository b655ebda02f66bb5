import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';

/** Parses JSON from a flag: the text itself or @file. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
