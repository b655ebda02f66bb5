import { startQuestionSchema, type QuestionTopic, type StartQuestion } from '@convoy/api/fleet/start-question';
import { callRedis } from '../redis/redis-failure.js';
import type { SignedRedis } from '../redis/signed-redis.js';
import { parsed } from '../redis/parsed.js';

/** A question is forgotten after this time: listing ten thousand collections takes minutes on a slow cluster. */
const QUESTION_RETAINED_MS = 600_000;

/** The latest question of each topic, in Redis. */
export class StartQuestions {
  constructor(private readonly redis: SignedRedis) {}

  /** @throws ConvoyError `redisUnavailable` */
  async put(topic: QuestionTopic, question: StartQuestion): Promise<void> {
    const { connection, keys, signature, limit_ms } = this.redis;
    const text = signature.seal('question', [topic], JSON.stringify(question));
    await callRedis(connection.set(keys.question(topic), text, 'PX', QUESTION_RETAINED_MS), limit_ms);
  }

  /**
   * @returns null without a question of this fleet that this release understands
   * @throws ConvoyError `redisUnavailable`
   */
  async read(topic: QuestionTopic): Promise<StartQuestion | null> {
    const { connection, keys, signature, limit_ms } = this.redis;
    const text = await callRedis(connection.get(keys.question(topic)), limit_ms);
    const opened = text === null ? null : signature.open('question', [topic], text, 'any');
    return opened === null ? null : parsed(startQuestionSchema, opened);
  }
}
