import type { Doc, Value } from '../../bson/value.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { RawDocument } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import type { ServerVersion } from '../../node/server-version.js';
import { compileMatcher } from '../../query/matcher.js';
import { compilePipeline } from '../../pipeline/stages.js';
import { tokenModified } from './stream-failure.js';

/** Stages that may follow `$changeStream` (manual, "Modify Change Stream Output"). */
const ALLOWED: ReadonlySet<string> = new Set([
  '$match',
  '$project',
  '$addFields',
  '$set',
  '$unset',
  '$replaceRoot',
  '$replaceWith',
  '$redact',
]);
/** Splits events above 16 MB; since 7.0 and 6.0.9. */
const SPLIT_STAGE = '$changeStreamSplitLargeEvent';

/** The stages after `$changeStream`, applied event by event. */
export interface EventPipeline {
  /** The last stage splits large events. */
  readonly splitsEvents: boolean;
  /**
   * The events that the stages make of one. A `fullDocument` that no stage reads stays unchanged.
   * @throws CommandError 280 when a stage changes the event's `_id`
   */
  run(event: Doc): Iterable<Doc>;
}

/** @throws CommandError for stages that are unknown or not allowed in a change stream */
export function eventPipeline(given: readonly Doc[], version: ServerVersion): EventPipeline {
  const splitsEvents = version.atLeast(6) && readSplitStage(given);
  const stages = splitsEvents ? given.slice(0, -1) : given;
  for (const stage of stages) refuseForeignStage(stage, version);
  if (stages.length === 0) return { splitsEvents, run: (event) => [event] };
  const matchers = stages.map((stage) => stage.get('$match')).filter((filter) => filter instanceof Map);
  if (matchers.length === stages.length && !matchers.some(looksInside)) {
    const predicates = matchers.map((filter) => compileMatcher(filter, undefined, { version }));
    return { splitsEvents, run: (event) => (predicates.every((matches) => matches(event)) ? [event] : []) };
  }
  const pipeline = compilePipeline([...stages], { version });
  return { splitsEvents, run: (event) => withToken(event, pipeline([decoded(event)])) };
}

/**
 * True when the last stage splits large events.
 * @throws CommandError 7182800 and 7182802 for a misplaced or malformed stage
 */
function readSplitStage(stages: readonly Doc[]): boolean {
  const at = stages.findIndex((stage) => stage.has(SPLIT_STAGE));
  if (at < 0) return false;
  const operand = stages[at]?.get(SPLIT_STAGE);
  if (!(operand instanceof Map) || operand.size > 0)
    throw new CommandError(7182800, 'Location7182800', `${SPLIT_STAGE} spec should be an empty object`);
  if (at < stages.length - 1)
    throw new CommandError(7182802, 'Location7182802', `${SPLIT_STAGE} must be the last stage in the pipeline`);
  return true;
}

function refuseForeignStage(stage: Doc, version: ServerVersion): void {
  const [name] = stage.keys();
  if (name === undefined || ALLOWED.has(name)) return;
  if (name === '$changeStream')
    throw new CommandError(40602, 'Location40602', '$changeStream is only valid as the first stage in a pipeline');
  compilePipeline([stage], { version });
  throw new CommandError(20, 'IllegalOperation', `${name} is not permitted in a $changeStream pipeline`);
}

function* withToken(event: Doc, results: Iterable<Doc>): Generator<Doc> {
  const expected = event.get('_id') as Doc;
  for (const result of results) {
    const found = result.get('_id');
    if (found !== expected && !(found instanceof Map && encodeDocument(found).equals(encodeDocument(expected)))) {
      throw tokenModified(
        new Map([['_id', expected]]),
        found === undefined ? new Map<string, Value>() : new Map([['_id', found]]),
      );
    }
    yield result;
  }
}

/** True when a filter reads the parts of an event that stay bytes, or the event as a whole. */
function looksInside(value: Value): boolean {
  if (typeof value === 'string') return /^\$\$?(fullDocument|ns|ROOT|CURRENT)/.test(value);
  if (Array.isArray(value)) return value.some(looksInside);
  if (!(value instanceof Map)) return false;
  return [...value].some(([name, inner]) => /^(fullDocument|ns)/.test(name) || name === '$where' || looksInside(inner));
}

function decoded(event: Doc): Doc {
  return new Map(
    [...event].map(([name, value]) => [name, value instanceof RawDocument ? decodeDocument(value.bytes) : value]),
  );
}
