import { z } from 'zod';
import { callRedis } from '../redis/redis-failure.js';
import type { SignedRedis } from '../redis/signed-redis.js';
import type { ReportBoard } from './report-board.js';
import { openMessage } from './report-message.js';

/** Heartbeat and report times of instances, in milliseconds of the Redis server's clock. */
export interface Roster {
  readonly now_ms: number;
  /** Last heartbeats by instance id. */
  readonly heartbeats: ReadonlyMap<string, number>;
  /** Times by instance id: of the stored reports, or of the last ones with another standing. */
  readonly news: ReadonlyMap<string, number>;
}

/** Lua expression of a roster; `now_ms`, `members` and the set of `news` to read must be bound. */
export const ROSTER_EXPRESSION =
  `{ now_ms, redis.call('ZRANGE', members, 0, -1, 'WITHSCORES'), redis.call('ZRANGE', news, 0, -1, ` +
  `'WITHSCORES') }`;

/** Lua for the server's time. */
export const NOW_STATEMENTS = `
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)`;

const READ = `
local members, news = KEYS[1], KEYS[2]
${NOW_STATEMENTS}
return ${ROSTER_EXPRESSION}`;

const scoresSchema = z.array(z.string()).transform((pairs) => {
  const scores = new Map<string, number>();
  for (let at = 0; at + 1 < pairs.length; at += 2) scores.set(pairs[at] ?? '', Number(pairs[at + 1]));
  return scores;
});
const rosterSchema = z
  .tuple([z.number(), scoresSchema, scoresSchema])
  .transform(([now_ms, heartbeats, news]): Roster => ({ now_ms, heartbeats, news }));

/** Parses a script's return value for `ROSTER_EXPRESSION`; null when it is invalid. */
export function decodeRoster(reply: unknown): Roster | null {
  return rosterSchema.safeParse(reply).data ?? null;
}

/**
 * Reads the roster with every report; instances get theirs with their heartbeats.
 * @throws ConvoyError `redisUnavailable`
 */
export async function loadRoster({ connection, keys, limit_ms }: SignedRedis): Promise<Roster> {
  const reply = await callRedis(connection.eval(READ, 2, keys.members, keys.news), limit_ms);
  return decodeRoster(reply) ?? { now_ms: 0, heartbeats: new Map(), news: new Map() };
}

/**
 * Updates a board from a roster: which instances are alive, and the reports that are new since the previous roster. It
 * finds what was published before this process subscribed. A flushed Redis recovers as its instances report again.
 */
export class PeerReports {
  /** Time of the last report read, by id. */
  readonly #read = new Map<string, number>();

  /** @param isOwn whether an instance id is this process's own; it knows its own report */
  constructor(
    private readonly redis: SignedRedis,
    private readonly board: ReportBoard,
    private readonly isOwn: (id: string) => boolean,
  ) {}

  /** Reads every report again with the next roster, since it may have missed departures. */
  forget(): void {
    this.#read.clear();
  }

  /**
   * @param askedAt_ms when the roster was requested, by the monotonic clock of this process
   * @throws ConvoyError `redisUnavailable`
   */
  async take({ now_ms, heartbeats, news }: Roster, askedAt_ms: number): Promise<void> {
    const { board, isOwn } = this;
    const aliveAt_ms = (id: string): number => askedAt_ms - Math.max(0, now_ms - (heartbeats.get(id) ?? 0));
    const changed = [...news].filter(([id, at_ms]) => !isOwn(id) && this.#read.get(id) !== at_ms);
    // A new report names the process behind the heartbeat; the previous report may be of a dead process.
    const unread = new Set(changed.map(([id]) => id));
    for (const id of heartbeats.keys()) if (!isOwn(id) && !unread.has(id)) board.alive(id, aliveAt_ms(id));
    if (changed.length === 0) return;
    const texts = await this.#readTexts(changed.map(([id]) => id));
    for (const [at, [id, at_ms]] of changed.entries()) {
      this.#hear(id, aliveAt_ms(id), texts.reports[at] ?? null, texts.left[at] ?? null);
      this.#read.set(id, at_ms);
    }
  }

  async #readTexts(ids: readonly string[]): Promise<{ reports: (string | null)[]; left: (string | null)[] }> {
    const { connection, keys, limit_ms } = this.redis;
    const read = Promise.all([
      connection.mget(ids.map((id) => keys.report(id))),
      connection.mget(ids.map((id) => keys.left(id))),
    ]);
    const [reports, left] = await callRedis(read, limit_ms);
    return { reports, left };
  }

  #hear(id: string, aliveAt_ms: number, text: string | null, leftIncarnation: string | null): void {
    const { board } = this;
    const { signature } = this.redis;
    const message = text === null ? null : openMessage(signature, text, 'any');
    if (message?.kind !== 'report') return;
    board.hear(message, aliveAt_ms);
    const { incarnation } = message.report.identity;
    if (leftIncarnation !== null && signature.open('left', [id], leftIncarnation, 'any') === incarnation)
      board.hear({ kind: 'left', id, incarnation }, aliveAt_ms);
  }
}
