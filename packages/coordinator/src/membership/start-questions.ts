import { startQuestionSchema, type QuestionTopic, type StartQuestion } from '@convoy/api/fleet/start-question';
import type { FleetKeys } from '../redis/keys.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { callRedis } from '../redis/redis-failure.js';

/** A question is forgotten after this time: listing ten thousand collections takes minutes on a slow cluster. */
const QUESTION_RETAINED_MS = 600_000;

/** The latest question of each topic, in Redis. */
export class StartQuestions {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: FleetKeys,
    private readonly limit_ms: number,
  ) {}

  /** @throws ConvoyError `redisUnavailable` */
  async put(topic: QuestionTopic, question: StartQuestion): Promise<void> {
    const text = JSON.stringify(question);
    await callRedis(this.connection.set(this.keys.question(topic), text, 'PX', QUESTION_RETAINED_MS), this.limit_ms);
  }

  /**
   * @returns null without a question that this release understands
   * @throws ConvoyError `redisUnavailable`
   */
  async read(topic: QuestionTopic): Promise<StartQuestion | null> {
    const text = await callRedis(this.connection.get(this.keys.question(topic)), this.limit_ms);
    return text === null ? null : parsed(text);
  }
}

function parsed(text: string): StartQuestion | null {
  try {
    return startQuestionSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
