import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** One line of a corpus file that holds a command with its recorded outcome. */
export interface Step {
  readonly step: number;
  readonly on?: string;
  readonly db?: string;
  readonly command?: Json;
  readonly reply?: Json;
  readonly error?: Json;
  readonly note?: string;
}

const directory = fileURLToPath(new URL('../../corpus/', import.meta.url));

/** The steps of a file of the corpus, without its heading. */
export function readCorpus(name: string): Step[] {
  return readFileSync(`${directory}${name}.jsonl`, 'utf8')
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Step);
}
