import { withChange, type Json } from '../change.js';
import type { FleetMessage } from '../message.js';
import { EventLines, type ServerEvent } from './event-lines.js';
import { ApiFailure, type FleetApi, failureOf } from './fleet-api.js';

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
