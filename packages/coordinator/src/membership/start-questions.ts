import { startQuestionSchema, type QuestionTopic, type StartQuestion } from '@convoy/api/fleet/start-question';
import type { FleetKeys } from '../redis/keys.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { callRedis } from '../redis/redis-failure.js';
import type { FleetSignature } from '../redis/signature.js';

/** A question is forgotten after this time: listing ten thousand collections takes minutes on a slow cluster. */
const QUESTION_RETAINED_MS = 600_000;

/** The latest question of each topic, in Redis. */
export class StartQuestions {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: FleetKeys,
    private readonly limit_ms: number,
    private readonly signature: FleetSignature,
  ) {}

  /** @throws ConvoyError `redisUnavailable` */
  async put(topic: QuestionTopic, question: StartQuestion): Promise<void> {
    const text = this.signature.seal('question', [topic], JSON.stringify(question));
    await callRedis(this.connection.set(this.keys.question(topic), text, 'PX', QUESTION_RETAINED_MS), this.limit_ms);
  }

  /**
   * @returns null without a question of this fleet that this release understands
   * @throws ConvoyError `redisUnavailable`
   */
  async read(topic: QuestionTopic): Promise<StartQuestion | null> {
    const text = await callRedis(this.connection.get(this.keys.question(topic)), this.limit_ms);
    const opened = text === null ? null : this.signature.open('question', [topic], text, 'any');
    return opened === null ? null : parsed(opened);
  }
}

function parsed(text: string): StartQuestion | null {
  try {
    return startQuestionSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
