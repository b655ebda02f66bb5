import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/**
 * One line of a corpus file: a command (or an action described in words) with its recorded outcome, or a note between
 * them.
 */
export interface CorpusLine {
  /** Name of the file it stands in. */
  readonly file: string;
  readonly step: number;
  /** The node that was asked. */
  readonly on?: string;
  /** The user who asked, in the file about access control. */
  readonly who?: string;
  readonly db?: string;
  readonly command?: Json;
  readonly reply?: Json;
  readonly error?: Json;
  readonly note?: string;
  /** The server chooses the order of the batch: it is compared as a set. */
  readonly unordered?: true;
  /** It waits on the server: its answer comes after that of this later step of another connection. */
  readonly answeredAfter?: number;
}

/** A line that was played and answered: everything but a note. */
export interface Step extends CorpusLine {
  readonly command: Json;
}

/** The files recorded from 5.0.7, by name. */
const filesOf50 = [
  '01-handshake',
  '02-catalog',
  '03-crud',
  '04-events-documents',
  '05-events-ddl',
  '06-resume-and-errors',
  '07-auth',
  '08-reads-at-a-time',
  '09-shard-key-hashes',
  '10-initial-distribution',
  '11-transactions',
  '12-fencing',
  '13-orphans',
  '14-replica-set',
  '15-attributes',
  '16-found-data',
  '17-found-definitions',
  '18-found-sharding',
  '19-found-sessions',
  '20-found-queries',
  '21-found-privileges',
  '22-found-computations',
  '23-found-index-conflicts',
  '24-found-pipelines',
  '25-storage-options',
  '27-found-sharding-checks',
  '28-found-transactions',
  '29-found-chunks',
  '30-found-commits',
  '33-nulls',
  '36-id-conjunctions',
  '37-waits',
  '38-found-placements',
  '39-found-long-runs',
  '40-record-order',
  '41-found-roles',
  '42-found-deviation',
  '43-data-sizes',
  '44-index-builds',
] as const;

/** The files recorded from 8.0.10 by the same scripts, in a folder of their own; what was found since comes last. */
const filesOf80 = [
  '8.0/01-handshake',
  '8.0/02-catalog',
  '8.0/03-crud',
  '8.0/04-events-documents',
  '8.0/05-events-ddl',
  '8.0/06-resume-and-errors',
  '8.0/07-auth',
  '8.0/08-reads-at-a-time',
  '8.0/09-shard-key-hashes',
  '8.0/10-initial-distribution',
  '8.0/11-transactions',
  '8.0/12-fencing',
  '8.0/13-orphans',
  '8.0/14-replica-set',
  '8.0/15-attributes',
  '8.0/16-found-answers',
  '8.0/17-time-series',
  '8.0/18-under-way',
] as const;

/** All files of the corpus, by name. */
export const corpusFiles = [...filesOf50, ...filesOf80] as const;

export type CorpusFile = (typeof corpusFiles)[number];

/** Release series that were recorded, oldest first. */
export const recordedReleases = ['5.0', '8.0'] as const;

export type RecordedRelease = (typeof recordedReleases)[number];

/** The release whose servers a file was recorded from. */
export function releaseOf(file: CorpusFile): RecordedRelease {
  return file.startsWith('8.0/') ? '8.0' : '5.0';
}

const directory = fileURLToPath(new URL('../../corpus/', import.meta.url));

/** The lines of a file of the corpus, without its heading. */
export function readCorpus(file: string): CorpusLine[] {
  return parseCorpus(file, readFileSync(`${directory}${file}.jsonl`, 'utf8'));
}

/** The same of the text of a file, wherever it is. */
export function parseCorpus(file: string, text: string): CorpusLine[] {
  return text
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => ({ file, ...(JSON.parse(line) as Omit<CorpusLine, 'file'>) }));
}

export function isStep(line: CorpusLine): line is Step {
  return line.command !== undefined;
}

/** A line's name in lists: `file:step`. */
export function nameOf(line: CorpusLine): string {
  return `${line.file}:${line.step}`;
}

/** What the real cluster answered to a step. */
export function recordedOutcome(step: Step): Json {
  return step.reply ?? step.error ?? null;
}

/** Which step is compared, as patterns name it. */
export interface Asked {
  /** What it asks, see `subjectOf`. */
  readonly subject: string;
  /** `file:step`. */
  readonly step: string;
}

export function askedBy(step: Step): Asked {
  return { subject: subjectOf(step), step: nameOf(step) };
}

/** What a step asks: a command's name; `find` with its collection, `aggregate` with its first stage. */
function subjectOf(step: Step): string {
  const command = step.command;
  if (command === null || typeof command !== 'object' || Array.isArray(command)) return 'described action';
  const [name] = Object.keys(command);
  if (name === 'find') return `find ${typeof command['find'] === 'string' ? command['find'] : ''}`;
  const [stage] = Array.isArray(command['pipeline']) ? (command['pipeline'] as Record<string, Json>[]) : [];
  return name === 'aggregate' && stage !== undefined ? `aggregate ${Object.keys(stage)[0] ?? ''}` : (name ?? '');
}
