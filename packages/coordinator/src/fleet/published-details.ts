import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import {
  detailSchemas,
  type DetailTopic,
  fleetTopics,
  type PublishedDetails,
} from '@convoy/api/fleet/published-details';
import { type QuestionTopic, type StartQuestion, startQuestionSchema } from '@convoy/api/fleet/start-question';
import { callRedis } from '../redis/redis-failure.js';
import type { FleetSignature } from '../redis/signature.js';
import { parsed, type SignedRedis } from '../redis/signed-redis.js';

/** Maximum unpacked size of details; 10,000 collections with the longest names of a server stay below. */
const DETAILS_BYTES_MAX = 8 * 1024 * 1024;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Details belong to an instance, except for those of which the fleet has one. */
function ownerOf(topic: DetailTopic, id: string): string {
  return fleetTopics.includes(topic) ? '' : id;
}

/** Writes an instance's details to Redis, the latest of each topic, with one call at a time per topic. */
export class DetailsWriter {
  readonly #waiting = new Map<DetailTopic, { readonly id: string; readonly content: unknown }>();
  readonly #sending = new Set<DetailTopic>();

  /** @param retention_ms how long Redis keeps details that nobody writes again */
  constructor(
    private readonly redis: SignedRedis,
    private readonly retention_ms: number,
  ) {}

  /** Writes soon; while a write of the topic is in progress, only the latest details wait. */
  send<Topic extends DetailTopic>(topic: Topic, id: string, content: PublishedDetails[Topic]): void {
    this.#waiting.set(topic, { id, content });
    if (!this.#sending.has(topic)) void this.#sendNext(topic);
  }

  stop(): void {
    this.#waiting.clear();
  }

  async #sendNext(topic: DetailTopic): Promise<void> {
    const { connection, keys, signature, limit_ms } = this.redis;
    this.#sending.add(topic);
    for (let next = this.#waiting.get(topic); next !== undefined; next = this.#waiting.get(topic)) {
      this.#waiting.delete(topic);
      const owner = ownerOf(topic, next.id);
      const packed = await pack(signature.seal('details', [topic, owner], JSON.stringify(next.content)));
      const key = keys.details(topic, owner);
      // The publisher repeats lost details.
      await callRedis(connection.set(key, packed, 'PX', this.retention_ms), limit_ms).catch(() => undefined);
    }
    this.#sending.delete(topic);
  }
}

/**
 * The latest details of each instance, with its id, without missing and unreadable ones. One after the other: they are
 * large together.
 * @throws ConvoyError `redisUnavailable`
 */
export async function* readDetails<Topic extends DetailTopic>(
  { connection, keys, signature, limit_ms }: SignedRedis,
  topic: Topic,
  ids: readonly string[],
): AsyncGenerator<[id: string, details: PublishedDetails[Topic]]> {
  if (ids.length === 0) return;
  const stored = ids.map((id) => keys.details(topic, ownerOf(topic, id)));
  const texts = await callRedis(connection.mgetBuffer(stored), limit_ms);
  for (const [at, id] of ids.entries()) {
    const packed = texts[at] ?? null;
    const details = packed === null ? null : await decodeDetails(signature, topic, ownerOf(topic, id), packed);
    if (details !== null) yield [id, details];
  }
}

async function decodeDetails<Topic extends DetailTopic>(
  signature: FleetSignature,
  topic: Topic,
  owner: string,
  packed: Buffer,
): Promise<PublishedDetails[Topic] | null> {
  try {
    const sealed = (await unpack(packed, { maxOutputLength: DETAILS_BYTES_MAX })).toString('utf8');
    const text = signature.open('details', [topic, owner], sealed, 'any');
    if (text === null) return null;
    return (detailSchemas[topic].safeParse(JSON.parse(text)).data as PublishedDetails[Topic] | undefined) ?? null;
  } catch {
    return null;
  }
}

/** A question is forgotten after this time: listing ten thousand collections takes minutes on a slow cluster. */
const QUESTION_RETAINED_MS = 600_000;

/**
 * Stores a question before a start, whose answer is among the details of its topic. An earlier one is forgotten.
 * @throws ConvoyError `redisUnavailable`
 */
export async function askQuestion(
  { connection, keys, signature, limit_ms }: SignedRedis,
  topic: QuestionTopic,
  question: StartQuestion,
): Promise<void> {
  const text = signature.seal('question', [topic], JSON.stringify(question));
  await callRedis(connection.set(keys.question(topic), text, 'PX', QUESTION_RETAINED_MS), limit_ms);
}

/**
 * The latest question of a topic.
 * @returns null without a question of this fleet that this release understands
 * @throws ConvoyError `redisUnavailable`
 */
export async function readQuestion(
  { connection, keys, signature, limit_ms }: SignedRedis,
  topic: QuestionTopic,
): Promise<StartQuestion | null> {
  const text = await callRedis(connection.get(keys.question(topic)), limit_ms);
  const opened = text === null ? null : signature.open('question', [topic], text, 'any');
  return opened === null ? null : parsed(startQuestionSchema, opened);
}
