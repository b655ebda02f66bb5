import type { ServerResponse } from 'node:http';
import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import type { FleetDirector } from '../director/fleet-director.js';

/** Events a second at most: fluent to the eye, and little work per client. */
const EVENT_GAP_MS = 200;
/** Some figures change with time alone: seconds of silence, time remaining. */
const TICK_MS = 1_000;
/** A comment keeps proxies from closing a silent stream. */
const KEEP_ALIVE_MS = 15_000;
/** Clients at once; more get 503. */
const CLIENTS_MAX = 100;
/** Bytes that may wait for a slow client; above, it gets no events until it has caught up, and then the latest. */
const CLIENT_BYTES_MAX = 256 * 1024;

/** The data of one event. */
export interface ProgressEvent {
  readonly failure: Failure | null;
  readonly progress: FleetProgress;
  readonly instances: readonly FleetInstance[];
}

interface Client {
  readonly stream: ServerResponse;
  /** Id of the last event that was written. */
  sentId: number;
}

/**
 * Sends the fleet's progress to clients as server-sent events named `progress`. Each event is the whole, so one that
 * was missed is made good by the next: a client that comes back with a `Last-Event-ID` gets the present event unless
 * it has it already. Ids grow by one with every change and begin at the time of the process's start, so that they do
 * not fall back when it is restarted.
 */
export class ProgressEvents {
  readonly #director: FleetDirector;
  readonly #clients = new Set<Client>();
  readonly #unwatch: () => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #gap: NodeJS.Timeout | undefined;
  #id: number;
  #data = '';
  #text = '';

  constructor(director: FleetDirector, now_ms: number) {
    this.#director = director;
    this.#id = now_ms;
    this.#unwatch = director.watch(() => this.#changed());
    this.#timers = [setInterval(() => this.#changed(), TICK_MS), setInterval(() => this.#beat(), KEEP_ALIVE_MS)];
  }

  /** Whether one more client can be served. */
  hasRoom(): boolean {
    return this.#clients.size < CLIENTS_MAX;
  }

  /**
   * Adds a client and sends it the present event.
   * @param stream with its headers written
   * @param lastEventId the id that the client has seen last, when it comes back
   */
  add(stream: ServerResponse, lastEventId: string | undefined): void {
    // Its close is not told of any more.
    if (stream.destroyed) return;
    this.#take();
    const client = { stream, sentId: lastEventId === String(this.#id) ? this.#id : 0 };
    this.#clients.add(client);
    stream.on('close', () => this.#clients.delete(client));
    stream.on('drain', () => this.#send(client));
    this.#send(client);
  }

  /** Ends all streams. */
  close(): void {
    this.#unwatch();
    clearTimeout(this.#gap);
    for (const timer of this.#timers) clearInterval(timer);
    for (const { stream } of this.#clients) stream.end();
    this.#clients.clear();
  }

  #changed(): void {
    if (this.#gap !== undefined || this.#clients.size === 0) return;
    this.#publish();
    this.#gap = setTimeout(() => {
      this.#gap = undefined;
      this.#publish();
    }, EVENT_GAP_MS);
  }

  #publish(): void {
    this.#take();
    for (const client of this.#clients) this.#send(client);
  }

  /** Reads the progress, and numbers it when it is news. */
  #take(): void {
    const { failure, progress, instances } = this.#director.progress();
    const data = JSON.stringify({ failure, progress, instances } satisfies ProgressEvent);
    if (data === this.#data) return;
    this.#data = data;
    this.#id += 1;
    this.#text = `id: ${this.#id}\nevent: progress\ndata: ${data}\n\n`;
  }

  #send(client: Client): void {
    if (client.sentId === this.#id || client.stream.writableLength > CLIENT_BYTES_MAX) return;
    client.sentId = this.#id;
    client.stream.write(this.#text);
  }

  #beat(): void {
    for (const { stream } of this.#clients) {
      if (stream.writableLength <= CLIENT_BYTES_MAX) stream.write(': keep-alive\n\n');
    }
  }
}
