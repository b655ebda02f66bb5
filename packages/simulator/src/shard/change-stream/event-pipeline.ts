import type { Doc, Value } from '../../bson/value.js';
import { decodeDocument } from '../../bson/decode.js';
import { RawDocument } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { compileMatcher } from '../../query/matcher.js';
import { compilePipeline } from '../../pipeline/stages.js';

/** Stages that may follow `$changeStream` (manual, "Modify Change Stream Output"). */
const ALLOWED: ReadonlySet<string> = new Set(['$match', '$project', '$addFields', '$set', '$unset', '$replaceRoot', '$replaceWith', '$redact']);

/** The stages behind `$changeStream`, applied event by event. */
export interface EventPipeline {
  /** The events that come out for one that goes in. A `fullDocument` that no stage looks at stays as it is. */
  run(event: Doc): Iterable<Doc>;
}

/** Throws CommandError for stages that are unknown or not allowed in a change stream. */
export function eventPipeline(stages: readonly Doc[]): EventPipeline {
  for (const stage of stages) refuseForeignStage(stage);
  if (stages.length === 0) return { run: (event) => [event] };
  const matchers = stages.map((stage) => stage.get('$match')).filter((filter) => filter instanceof Map);
  if (matchers.length === stages.length && !matchers.some(looksInside)) {
    const predicates = matchers.map((filter) => compileMatcher(filter));
    return { run: (event) => (predicates.every((matches) => matches(event)) ? [event] : []) };
  }
  const pipeline = compilePipeline([...stages], {});
  return { run: (event) => pipeline([decoded(event)]) };
}

function refuseForeignStage(stage: Doc): void {
  const [name] = stage.keys();
  if (name === undefined || ALLOWED.has(name)) return;
  compilePipeline([stage], {});
  throw new CommandError(20, 'IllegalOperation', `${name} is not permitted in a $changeStream pipeline`);
}

/** True when a filter looks into the parts of an event that are kept as bytes, or at the event as a whole. */
function looksInside(value: Value): boolean {
  if (typeof value === 'string') return /^\$\$?(fullDocument|ns|ROOT|CURRENT)/.test(value);
  if (Array.isArray(value)) return value.some(looksInside);
  if (!(value instanceof Map)) return false;
  return [...value].some(([name, inner]) => /^(fullDocument|ns)(\.|$)/.test(name) || name === '$where' || looksInside(inner));
}

function decoded(event: Doc): Doc {
  return new Map([...event].map(([name, value]) => [name, value instanceof RawDocument ? decodeDocument(value.bytes) : value]));
}
