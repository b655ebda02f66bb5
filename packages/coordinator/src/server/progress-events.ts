import type { ServerResponse } from 'node:http';
import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import type { FleetDirector } from '../director/fleet-director.js';

/** Minimum time between events: fluent to read, and little work per client. */
const EVENT_GAP_MS = 200;
/** The same for each instance, whose row is in every event: a client receives as many rows a second of any fleet. */
const EVENT_GAP_PER_INSTANCE_MS = 4;
/** Some values change with time alone: seconds of silence, time remaining. */
const TICK_MS = 1_000;
/** A comment keeps proxies from closing a silent stream. */
const KEEP_ALIVE_MS = 15_000;
/** Maximum clients; further ones get 503. */
const CLIENTS_MAX = 100;
/** Maximum bytes waiting for a slow client; above, it gets no events until it catches up, and then the latest. */
const CLIENT_BYTES_MAX = 256 * 1024;

/** The data of one event. */
export interface ProgressEvent {
  readonly failure: Failure | null;
  /** Its instances stand beside it. */
  readonly progress: Omit<FleetProgress, 'instances'> & { readonly instances?: undefined };
  readonly instances: readonly FleetInstance[];
}

interface Client {
  readonly stream: ServerResponse;
  /** Id of the last event sent. */
  sentId: number;
}

/**
 * Sends the fleet's progress to clients as server-sent events named `progress`. Each event is complete, so the next one
 * makes up for a missed one: a client that reconnects with a `Last-Event-ID` gets the current event unless it has it
 * already. Ids increase by one with every change and start at the process's start time, so a restart does not reset
 * them.
 */
export class ProgressEvents {
  readonly #clients = new Set<Client>();
  readonly #unwatch: () => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #gap: NodeJS.Timeout | undefined;
  #id: number;
  #gap_ms = EVENT_GAP_MS;
  #data = '';
  #text = '';

  constructor(
    private readonly director: Pick<FleetDirector, 'watch' | 'progress'>,
    now_ms: number,
  ) {
    this.#id = now_ms;
    this.#unwatch = director.watch(() => this.#changed());
    this.#timers = [setInterval(() => this.#changed(), TICK_MS), setInterval(() => this.#beat(), KEEP_ALIVE_MS)];
  }

  /** Whether another client may connect. */
  hasRoom(): boolean {
    return this.#clients.size < CLIENTS_MAX;
  }

  /**
   * Adds a client and sends it the current event.
   * @param stream with its headers sent
   * @param lastEventId the last id that a reconnecting client has seen
   */
  add(stream: ServerResponse, lastEventId: string | undefined): void {
    // A closed stream emits no further close event.
    if (stream.destroyed) return;
    this.#take();
    const client = { stream, sentId: lastEventId === String(this.#id) ? this.#id : 0 };
    this.#clients.add(client);
    stream.on('close', () => this.#clients.delete(client));
    stream.on('drain', () => this.#send(client));
    this.#send(client);
  }

  /** Closes all streams. */
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
    }, this.#gap_ms);
  }

  #publish(): void {
    this.#take();
    for (const client of this.#clients) this.#send(client);
  }

  /** Reads the progress, and gives it a new id when it changed. */
  #take(): void {
    const { failure, progress, instances } = this.director.progress();
    this.#gap_ms = Math.max(EVENT_GAP_MS, EVENT_GAP_PER_INSTANCE_MS * instances.length);
    const event: ProgressEvent = { failure, progress: { ...progress, instances: undefined }, instances };
    const data = JSON.stringify(event);
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
