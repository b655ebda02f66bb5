import type { Json, Step } from './corpus-file.js';
import { masked } from './masked.js';

/** Lists whose order the server does not define, by the command or collection they answer. */
const unordered: ReadonlySet<string> = new Set(['listCollections', 'config.collections', 'config.chunks', 'config.cache.collections', '$indexStats', '$collStats', 'config.shards']);

/** Fields of `serverStatus` that are compared; the others count what a server has done. */
const comparedStatus = ['process', 'pid', 'repl', 'ok'] as const;

/** A step's outcome as the corpus writes it, from a reply as it came over the wire. */
export function comparable(outcome: Json, step: Step): string {
  const value = masked(chosen(withDriverErrors(outcome), subjectOf(step)));
  return JSON.stringify(sorted(value, unordered.has(subjectOf(step))));
}

function chosen(outcome: Json, subject: string): Json {
  if (outcome === null || typeof outcome !== 'object' || Array.isArray(outcome)) return outcome;
  if (subject === 'configureFailPoint') return Object.fromEntries(Object.entries(outcome).filter(([name]) => name !== 'count'));
  if (subject === '$sample') return withSampledDocuments(outcome);
  if (subject !== 'serverStatus') return outcome;
  const status = Object.fromEntries(comparedStatus.map((name) => [name, typeof outcome[name]]));
  return { ...status, process: outcome['process'] ?? null };
}

/** `$sample` draws documents at random: only how many it gives is compared. */
function withSampledDocuments(outcome: Record<string, Json>): Json {
  const cursor = outcome['cursor'] as Record<string, Json>;
  const documents = cursor['firstBatch'] as Json[];
  return { ...outcome, cursor: { ...cursor, firstBatch: documents.map(() => 'SAMPLED') } };
}

/** The corpus lists errors as the driver shows them: with nulls for what the server leaves out. */
function withDriverErrors(outcome: Json): Json {
  if (outcome === null || typeof outcome !== 'object' || Array.isArray(outcome)) return outcome;
  if (typeof outcome['errmsg'] !== 'string') return outcome;
  if (outcome['writeConcernError'] !== undefined) return { n: outcome['n'] ?? null, writeConcernError: outcome['writeConcernError'], ok: { $numberDouble: '1.0' } };
  if (outcome['index'] !== undefined) return writeErrorReply(outcome);
  const { code = null, codeName = null, ...rest } = outcome;
  return { ...rest, code, codeName };
}

/** A failed statement that the driver shows as an error, as the reply it came in. */
function writeErrorReply({ index = null, code = null, codeName = null, errmsg = null }: Record<string, Json>): Json {
  const zero = { $numberInt: '0' };
  return { n: zero, nModified: zero, ok: { $numberDouble: '1.0' }, writeErrors: [{ index, code, codeName, errmsg }] };
}

function subjectOf(step: Step): string {
  const command = (step.command ?? {}) as Record<string, Json>;
  const [name] = Object.keys(command);
  if (name === 'find') return `${step.db ?? ''}.${typeof command['find'] === 'string' ? command['find'] : ''}`;
  const [stage] = Array.isArray(command['pipeline']) ? (command['pipeline'] as Record<string, Json>[]) : [];
  return name === 'aggregate' && stage !== undefined ? (Object.keys(stage)[0] ?? '') : (name ?? '');
}

/** Fields of replies in one order; documents in batches keep theirs, which is part of what is compared. */
function sorted(value: Json, anyOrder: boolean, depth = 0): Json {
  if (Array.isArray(value)) {
    return anyOrder ? [...value].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : value;
  }
  if (value === null || typeof value !== 'object' || depth > 1) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner, anyOrder, depth + 1)]),
  );
}
