/**
 * A call that has no answer for this long is repeated through another connection. A frozen node is replaced by an
 * election within 10 to 12 s; a router that has sent it something before does not ask its successor by itself.
 */
const answer_ms = 20_000;
/** How long a command counts as slow after it was. */
const remembered_ms = 10 * 60_000;
/** Kinds of slow commands that are remembered; beyond that all begin anew. */
const kindsMax = 1_000;
/** A call may take this many times as long as the slowest one before. */
const slack_ratio = 2;

interface Raised {
  limit_ms: number;
  until_ms: number;
}

/**
 * How long calls may go without an answer, beyond the time that they give the server. Each call in vain doubles the
 * limit of its kind, and a slow answer raises it. So a server that is slow finishes its work, at the cost of as much
 * again, while one that is frozen costs one short limit.
 */
export class AnswerLimits {
  readonly #raised = new Map<string, Raised>();

  /** @param now_ms of a monotonic clock */
  constructor(private readonly now_ms: () => number = () => performance.now()) {}

  /** @param kind the command and its namespace */
  limit_ms(kind: string): number {
    const raised = this.#raised.get(kind);
    if (raised === undefined) return answer_ms;
    if (raised.until_ms > this.now_ms()) return raised.limit_ms;
    this.#raised.delete(kind);
    return answer_ms;
  }

  /** Notes a call that was given up. Of calls that ran at the same time, the first one counts. */
  exceeded(kind: string, limit_ms: number): void {
    this.#raise(kind, slack_ratio * limit_ms);
  }

  /** Notes an answer. */
  answered(kind: string, took_ms: number): void {
    if (took_ms > answer_ms) this.#raise(kind, slack_ratio * took_ms);
  }

  #raise(kind: string, limit_ms: number): void {
    if (this.#raised.size >= kindsMax && !this.#raised.has(kind)) this.#raised.clear();
    const raised_ms = Math.max(limit_ms, this.limit_ms(kind));
    this.#raised.set(kind, { limit_ms: raised_ms, until_ms: this.now_ms() + remembered_ms + raised_ms });
  }
}
