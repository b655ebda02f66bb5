import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../corpus/', import.meta.url));

/** One line of the recorded replies of a real cluster, as plain JSON. */
export interface CorpusStep {
  step?: number;
  on?: string;
  db?: string;
  command?: Record<string, unknown>;
  reply?: Record<string, unknown>;
  error?: Record<string, unknown>;
  note?: string;
}

/** The numbers that the corpus' files begin with. */
export function corpusNumbers(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => name.slice(0, name.indexOf('-')));
}

/** The steps of one file of the corpus, by the number its name begins with. */
export function corpusSteps(number: string): CorpusStep[] {
  const file = readdirSync(folder).find((name) => name.startsWith(`${number}-`)) ?? '';
  return corpusText(file)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as CorpusStep);
}

/** The text of every file of the corpus, one after another. */
export function wholeCorpus(): string {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map(corpusText)
    .join('\n');
}

function corpusText(file: string): string {
  return readFileSync(`${folder}${file}`, 'utf8');
}
