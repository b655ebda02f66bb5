import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { isErrorName } from '@convoy/api/errors/table';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic } from '@convoy/api/fleet/start-question';
import type { FleetConsole } from '../director/fleet-console.js';

/** Interval of looking for an answer. */
const LOOK_MS = 300;
/** How long a request waits for an answer; below the time limits of clients and proxies. */
const ANSWER_WITHIN_MS = 25_000;
/** How long a listing serves all pages. */
const LISTING_SERVES_MS = 60_000;
/** The same for an inventory, which people look at while they change it. */
const INVENTORY_SERVES_MS = 15_000;
/** A report does not wait longer for a new inventory. */
const REPORT_WAITS_MS = 5_000;

interface Asked {
  readonly id: string;
  readonly at_ms: number;
  /** What was asked for: names of the clusters, or the whole request. */
  readonly key: string;
  /** Rejects when the question did not reach Redis. */
  readonly sent: Promise<void>;
}

/**
 * What users want to know before a start, and of the clusters at any time. The fleet's leader answers, since a
 * coordinator reaches no cluster.
 */
export class StartGuide {
  #listing: Asked | null = null;
  #inventory: Asked | null = null;

  constructor(
    private readonly fleet: Pick<FleetConsole, 'ask' | 'details'>,
    private readonly now_ms: () => number = () => performance.now(),
    private readonly answerWithin_ms = ANSWER_WITHIN_MS,
  ) {}

  /**
   * The preflight checks for these options.
   * @throws ConvoyError the reason why they cannot run, `commandTimedOut` without an answer, `redisUnavailable`
   */
  async check(request: StartRequest): Promise<NonNullable<PublishedDetails['startCheck']['report']>> {
    const id = randomUUID();
    await this.fleet.ask('startCheck', { id, request });
    const { report } = await this.#answer('startCheck', id);
    if (report === null) throw new ConvoyError('internalError');
    return report;
  }

  /**
   * The source's collections and both clusters, at most a minute old. A request that times out may be repeated: it then
   * waits for the same listing.
   * @throws ConvoyError as `check`
   */
  async listing(request: StartRequest): Promise<PublishedDetails['sourceListing']> {
    const asked = this.#askedFor(request);
    try {
      await asked.sent;
      return await this.#answer('sourceListing', asked.id);
    } catch (error) {
      const isLate = isConvoyError(error, 'commandTimedOut');
      if (!isLate && this.#listing === asked) this.#listing = null;
      throw error;
    }
  }

  /**
   * What both clusters have besides data, some seconds old at most: of the migration that runs, otherwise of these
   * clusters.
   * @throws ConvoyError as `check`
   */
  async inventory(request: StartRequest): Promise<Inventory> {
    const key = JSON.stringify(request);
    const at_ms = this.now_ms();
    if (this.#inventory?.key !== key || at_ms - this.#inventory.at_ms > INVENTORY_SERVES_MS) {
      const id = randomUUID();
      this.#inventory = { id, at_ms, key, sent: this.fleet.ask('inventory', { id, request }) };
    }
    const asked = this.#inventory;
    try {
      await asked.sent;
      const { inventory } = await this.#answer('inventory', asked.id);
      if (inventory === null) throw new ConvoyError('internalError');
      return inventory;
    } catch (error) {
      if (!isConvoyError(error, 'commandTimedOut') && this.#inventory === asked) this.#inventory = null;
      throw error;
    }
  }

  /** The inventory for a report: the last one that is known, if there is no new one in time; null without any. */
  async knownInventory(request: StartRequest): Promise<Inventory | null> {
    const late = new AbortController();
    const waited = delay(REPORT_WAITS_MS, null, { signal: late.signal }).catch(() => null);
    const found = await Promise.race([this.inventory(request).catch(() => null), waited]);
    late.abort();
    if (found !== null) return found;
    try {
      for await (const [, { inventory }] of this.fleet.details('inventory')) return inventory;
    } catch {
      // Then none is known.
    }
    return null;
  }

  /** The question for these clusters: the last one while it serves, or a new one. */
  #askedFor(request: StartRequest): Asked {
    const key = `${request.source} ${request.destination}`;
    const at_ms = this.now_ms();
    const known = this.#listing;
    if (known?.key === key && at_ms - known.at_ms <= LISTING_SERVES_MS) return known;
    const id = randomUUID();
    this.#listing = { id, at_ms, key, sent: this.fleet.ask('sourceListing', { id, request }) };
    return this.#listing;
  }

  async #answer<Topic extends QuestionTopic>(topic: Topic, id: string): Promise<PublishedDetails[Topic]> {
    const until_ms = this.now_ms() + this.answerWithin_ms;
    for (;;) {
      for await (const [, answer] of this.fleet.details(topic)) if (answer.questionId === id) return answered(answer);
      if (this.now_ms() >= until_ms)
        throw new ConvoyError(
          'commandTimedOut',
          'No idle instance has answered yet. Check that the instances run and have reached both clusters.',
        );
      await delay(LOOK_MS);
    }
  }
}

function answered<Answer extends PublishedDetails[QuestionTopic]>(answer: Answer): Answer {
  const { failure } = answer;
  if (failure === null) return answer;
  throw new ConvoyError(isErrorName(failure.error) ? failure.error : 'internalError', failure.errorDescription);
}
