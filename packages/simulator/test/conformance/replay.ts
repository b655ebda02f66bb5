import { Binary, Int32, type Timestamp } from 'bson';
import { toExtendedJson } from '../../src/bson/extended-json.js';
import type { Doc, Value } from '../../src/bson/value.js';
import { type Json, readCorpus, type Step } from './corpus-file.js';
import { comparable } from './compare-replies.js';
import { pairUuids, type Uuids } from './paired-uuids.js';
import { resolveCommand } from './resolve-command.js';
import type { WireClient } from './wire-client.js';

/** One step that was played, with both outcomes in the form in which they were compared. */
export interface PlayedStep {
  readonly file: string;
  readonly step: Step;
  readonly equal: boolean;
  readonly expected: string;
  readonly actual: string;
}

/** A change stream may give in two batches what was recorded as one, and earlier or later: that long is waited for the rest. */
const eventsWaitMs = 3000;
/** How long a recorded empty batch is waited for. */
const emptyBatchMs = 40;

/** Something a note of the corpus stands for, done through the node that clients use. */
export type Action = (client: WireClient) => Promise<void>;

/** Plays files of the corpus, one after the other, against the nodes of one cluster. */
export class Replay {
  readonly #sessions = new Map<string, Binary>();
  readonly #streams = new Map<string, Value[]>();
  readonly #uuids: Uuids = new Map();
  #replies = new Map<number, Doc>();

  constructor(
    private readonly clients: ReadonlyMap<string, WireClient>,
    private readonly clusterTime: () => Timestamp,
    /** What happened at notes that stand for unrecorded commands, by `file:step`. */
    private readonly actions: ReadonlyMap<string, Action>,
  ) {}

  async play(file: string): Promise<PlayedStep[]> {
    this.#replies = new Map();
    const played: PlayedStep[] = [];
    for (const step of readCorpus(file)) {
      const client = this.clients.get('router') ?? this.clients.get('replicaset');
      if (client !== undefined) await this.actions.get(`${file}:${step.step}`)?.(client);
      const result = await this.#playStep(file, step);
      if (result !== undefined) played.push(result);
    }
    return played;
  }

  async #playStep(file: string, step: Step): Promise<PlayedStep | undefined> {
    const client = this.clients.get(step.on ?? '');
    if (client === undefined || step.command === undefined || typeof step.command === 'string') return undefined;
    const command = resolveCommand(step.command, { replies: this.#replies, sessions: this.#sessions, uuids: this.#uuids, clusterTime: this.clusterTime() });
    const recorded = step.reply ?? step.error ?? null;
    const reply = await this.#run(client, step, command, recorded);
    this.#replies.set(step.step, reply);
    const expected = comparable(recorded, step);
    const outcome = toExtendedJson(reply) as Json;
    pairUuids(recorded, outcome, this.#uuids);
    const actual = comparable(outcome, step);
    return { file, step, equal: expected === actual, expected, actual };
  }

  async #run(client: WireClient, step: Step, command: Doc, recorded: Json): Promise<Doc> {
    const db = step.db ?? 'admin';
    const events = recordedEvents(recorded);
    if (!command.has('getMore') || !command.has('maxTimeMS') || events === undefined) return client.run(db, command);
    return this.#collectEvents(client, db, command, events);
  }

  /** Reads a stream until it has given as many events as were recorded; what it gives beyond them is kept for the next step. */
  async #collectEvents(client: WireClient, db: string, command: Doc, wanted: number): Promise<Doc> {
    const key = JSON.stringify(command.get('getMore'));
    const events = this.#streams.get(key) ?? [];
    const deadlineMs = Date.now() + eventsWaitMs;
    let reply: Doc;
    do {
      const polled = new Map(command).set('maxTimeMS', new Int32(emptyBatchMs));
      reply = await client.run(db, polled);
      const batch = (reply.get('cursor') as Doc | undefined)?.get('nextBatch');
      if (!Array.isArray(batch)) return reply;
      events.push(...batch);
    } while (events.length < wanted && Date.now() < deadlineMs);
    (reply.get('cursor') as Doc).set('nextBatch', events.slice(0, wanted));
    this.#streams.set(key, events.slice(wanted));
    return reply;
  }
}

function recordedEvents(recorded: Json): number | undefined {
  const cursor = (recorded as { cursor?: { nextBatch?: Json[]; postBatchResumeToken?: Json } } | null)?.cursor;
  return cursor?.postBatchResumeToken === undefined ? undefined : cursor.nextBatch?.length;
}
