import { type Binary, Int32 } from 'bson';
import { toExtendedJson } from '../extended-json.js';
import type { Doc, Value } from '../../src/bson/value.js';
import { withDriverSession } from './driver-sessions.js';
import { compareWithReply, type Difference } from './compare-outcomes.js';
import { askedBy, type CorpusLine, isStep, type Json, readCorpus, recordedOutcome, type Step } from './corpus-file.js';
import { PairedIds } from './paired-ids.js';
import { pairUuids, type Uuids } from './paired-uuids.js';
import { resolveCommand } from './resolve-command.js';
import type { Stage } from './stage.js';

/** One step that was played. */
export interface PlayedStep {
  readonly step: Step;
  /** The reply as it came, in extended JSON. */
  readonly answered: Json;
  /** None: equal. */
  readonly differences: readonly Difference[];
}

/**
 * A change stream may give in two batches what was recorded as one, and earlier or later: that long is waited for the
 * rest.
 */
const eventsWaitMs = 10_000;
/** How long a recorded empty batch is waited for. */
const emptyBatchMs = 40;
/** Limit for a stream without events to pass its last one: nodes without no-ops never do. */
const idleWaitMs = 2_000;
/** The text of a resume token that is of a time alone, without an event. */
const timeToken = /^82[0-9A-F]{16}2B0[24]29/;

/** Plays files of the corpus, one after the other, on one stage. */
export class Replay {
  readonly #sessions = new Map<string, Binary>();
  /** Events that streams gave before they were wanted, by the commands that read the streams. */
  readonly #early = new Map<string, Value[]>();
  /** The tokens that streams had reached, by cursor id. */
  readonly #reached = new Map<string, Value>();
  readonly #uuids: Uuids = new Map();
  readonly #ids = new PairedIds();
  #replies = new Map<number, Doc>();

  constructor(private readonly stage: Stage) {}

  play(file: string): Promise<PlayedStep[]> {
    return this.playLines(readCorpus(file));
  }

  /** Plays the lines of one file. */
  async playLines(lines: readonly CorpusLine[]): Promise<PlayedStep[]> {
    this.#replies = new Map();
    const played: PlayedStep[] = [];
    const waiting: { readonly after: number; readonly answer: Promise<PlayedStep> }[] = [];
    for (const line of lines) {
      if (!isStep(line)) await this.stage.actAtNote(line.file, line.step);
      else if (line.answeredAfter !== undefined)
        waiting.push({ after: line.answeredAfter, answer: this.#playStep(line) });
      else played.push(await this.#playStep(line));
      while (waiting[0]?.after === line.step) played.push(await (waiting.shift() as (typeof waiting)[number]).answer);
    }
    return played;
  }

  async #playStep(step: Step): Promise<PlayedStep> {
    const reply = await this.#answer(step);
    this.#replies.set(step.step, reply);
    this.#noteReached(reply);
    const answered = toExtendedJson(reply) as Json;
    pairUuids(recordedOutcome(step), answered, this.#uuids);
    const differences = compareWithReply(step, answered, this.stage.roles);
    if (differences.length > 0) return { step, answered, differences };
    return { step, answered, differences: this.#ids.contradictions(recordedOutcome(step), answered, askedBy(step)) };
  }

  async #answer(step: Step): Promise<Doc> {
    if (typeof step.command === 'string') return this.stage.act(step);
    const known = {
      replies: this.#replies,
      sessions: this.#sessions,
      uuids: this.#uuids,
      clusterTime: this.stage.clusterTime(),
    };
    const command = withDriverSession(step, resolveCommand(step.command, known));
    const events = recordedEvents(recordedOutcome(step));
    if (!command.has('getMore') || !command.has('maxTimeMS') || events === undefined)
      return this.stage.send(step, command);
    return this.#collectEvents(step, command, events);
  }

  /**
   * Reads a stream until it has given as many events as were recorded, or has passed the last one where none were; what
   * it gives beyond them is kept for the next step.
   */
  async #collectEvents(step: Step, command: Doc, wanted: number): Promise<Doc> {
    const key = JSON.stringify(command.get('getMore'));
    const events = this.#early.get(key) ?? [];
    const deadlineMs = Date.now() + (wanted === 0 ? idleWaitMs : eventsWaitMs);
    let reply: Doc;
    do {
      reply = await this.stage.send(step, new Map(command).set('maxTimeMS', new Int32(emptyBatchMs)));
      const batch = cursorOf(reply)?.get('nextBatch');
      if (!Array.isArray(batch)) return reply;
      events.push(...batch);
    } while ((wanted === 0 ? standsAtEvent(reply) : events.length < wanted) && Date.now() < deadlineMs);
    const given = events.splice(0, wanted);
    this.#early.set(key, events);
    const cursor = cursorOf(reply)?.set('nextBatch', given);
    if (events.length > 0)
      cursor?.set('postBatchResumeToken', tokenOf(given.at(-1)) ?? this.#reached.get(idOf(cursor)) ?? null);
    return reply;
  }

  /** Remembers how far a stream has got, for a batch from which early events are held back. */
  #noteReached(reply: Doc): void {
    const cursor = cursorOf(reply);
    const token = cursor?.get('postBatchResumeToken');
    if (cursor !== undefined && token !== undefined) this.#reached.set(idOf(cursor), token);
  }
}

function cursorOf(reply: Doc): Doc | undefined {
  return reply.get('cursor') as Doc | undefined;
}

function idOf(cursor: Doc): string {
  return JSON.stringify(cursor.get('id'));
}

function tokenOf(event: Value | undefined): Value | undefined {
  return event instanceof Map ? event.get('_id') : undefined;
}

/** Whether a stream has not yet passed its last event, as it does with the next no-op. */
function standsAtEvent(reply: Doc): boolean {
  const token = cursorOf(reply)?.get('postBatchResumeToken');
  const text = token instanceof Map ? token.get('_data') : undefined;
  return typeof text === 'string' && !timeToken.test(text);
}

function recordedEvents(recorded: Json): number | undefined {
  const cursor = (recorded as { cursor?: { nextBatch?: Json[]; postBatchResumeToken?: Json } } | null)?.cursor;
  return cursor?.postBatchResumeToken === undefined ? undefined : cursor.nextBatch?.length;
}
