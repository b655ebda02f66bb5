import { type Json, withChange } from './change.js';
import { ApiFailure, failureOf, type FleetApi } from './fleet-api.js';
import type { FleetMessage } from './message.js';

/** A live stream sends at least once a second; after this much silence the page reconnects. */
const silenceMax_ms = 6_000;
const waitMin_ms = 500;
const waitMax_ms = 5_000;

export interface FleetListener {
  /** A new state of the fleet. */
  readonly message: (message: FleetMessage) => void;
  /** The stream ended or never started; the data is stale. */
  readonly lost: (failure: ApiFailure | null) => void;
}

/** Follows the fleet for as long as the page is open, over restarts of the coordinator. */
export class FleetStream {
  #fleet: Json = null;
  #wait_ms = waitMin_ms;

  constructor(
    private readonly api: FleetApi,
    private readonly listener: FleetListener,
  ) {}

  /** Never returns; reopens a stream that ends, each time after a longer pause. */
  async run(): Promise<never> {
    for (;;) {
      const failure = await this.#follow().then(
        () => null,
        (error: unknown) => (error instanceof ApiFailure ? error : null),
      );
      this.listener.lost(failure);
      await new Promise((resolve) => setTimeout(resolve, this.#wait_ms));
      this.#wait_ms = Math.min(waitMax_ms, this.#wait_ms * 1.6);
    }
  }

  async #follow(): Promise<void> {
    const ending = new AbortController();
    let timer = setTimeout(() => ending.abort(), silenceMax_ms);
    try {
      const response = await fetch('/api/v1/watch', { headers: this.api.headers(), signal: ending.signal });
      if (!response.ok || response.body === null) throw await failureOf(response);
      const lines = new EventLines();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => ending.abort(), silenceMax_ms);
        for (const event of lines.take(value)) this.#take(event);
      }
    } finally {
      clearTimeout(timer);
      ending.abort();
    }
  }

  #take({ event, data }: ServerEvent): void {
    const news = JSON.parse(data) as Json;
    this.#fleet = event === 'fleet' ? news : withChange(this.#fleet, news);
    this.#wait_ms = waitMin_ms;
    this.listener.message(this.#fleet as unknown as FleetMessage);
  }
}

/** One server-sent event. */
interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Maximum characters of an incomplete event; a longer one is not from this service. */
const waitingMax = 8 * 1024 * 1024;

/** Assembles events from the pieces of a stream. */
export class EventLines {
  #waiting = '';

  /** The events that this piece completes. */
  take(piece: string): ServerEvent[] {
    this.#waiting += piece;
    const parts = this.#waiting.split('\n\n');
    this.#waiting = parts.pop() ?? '';
    if (this.#waiting.length > waitingMax) throw new Error('an event does not end');
    return parts.flatMap((part) => {
      const lines = part.split('\n').filter((line) => !line.startsWith(':'));
      const data = valueOf(lines, 'data');
      return data === '' ? [] : [{ event: valueOf(lines, 'event'), data }];
    });
  }
}

function valueOf(lines: readonly string[], name: string): string {
  return lines
    .filter((line) => line.startsWith(`${name}: `))
    .map((line) => line.slice(name.length + 2))
    .join('\n');
}
