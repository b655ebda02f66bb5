import type { ServerResponse } from 'node:http';
import { changeBetween, type Json } from '../dashboard/change.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { fleetMessage } from './fleet-message.js';

/** Maximum one message per second, except the first after an idle time: what a person can read. */
const GAP_MS = 1_000;
/** Maximum pages; further ones get 503. */
const CLIENTS_MAX = 100;
/** Maximum bytes waiting for a slow client; above, it gets nothing until it catches up, and then everything. */
const CLIENT_BYTES_MAX = 512 * 1024;

interface Client {
  readonly stream: ServerResponse;
  /** Id of the last message sent; 0 for none. */
  sentId: number;
}

type WatchedFleet = Pick<FleetDirector, 'watch' | 'snapshot' | 'progress' | 'commandsSent'>;

/**
 * Sends changes to dashboards: everything as `fleet` to a page that has nothing or missed a message, then each second a
 * `change` against the previous message.
 */
export class FleetChanges {
  readonly #clients = new Set<Client>();
  readonly #unwatch: () => void;
  readonly #timer: NodeJS.Timeout;
  #gap: NodeJS.Timeout | undefined;
  #id: number;
  #whole: Json = null;
  #change: Json | undefined;

  constructor(
    private readonly director: WatchedFleet,
    now_ms: number,
  ) {
    this.#id = now_ms;
    this.#unwatch = director.watch(() => this.#changed());
    // Time alone changes values, and shows that the stream is alive.
    this.#timer = setInterval(() => this.#changed(), GAP_MS);
  }

  /** Whether another page may connect. */
  hasRoom(): boolean {
    return this.#clients.size < CLIENTS_MAX;
  }

  /** Adds a page and sends it everything. */
  add(stream: ServerResponse): void {
    // A closed stream emits no further close event.
    if (stream.destroyed) return;
    if (this.#clients.size === 0) this.#take();
    const client = { stream, sentId: 0 };
    this.#clients.add(client);
    stream.on('close', () => this.#clients.delete(client));
    this.#send(client);
  }

  /** Closes all streams. */
  close(): void {
    this.#unwatch();
    clearTimeout(this.#gap);
    clearInterval(this.#timer);
    for (const { stream } of this.#clients) stream.end();
    this.#clients.clear();
  }

  #changed(): void {
    if (this.#gap !== undefined || this.#clients.size === 0) return;
    this.#gap = setTimeout(() => (this.#gap = undefined), GAP_MS * 0.9);
    this.#take();
    for (const client of this.#clients) this.#send(client);
  }

  #take(): void {
    const whole = JSON.parse(JSON.stringify(fleetMessage(this.director))) as Json;
    this.#change = changeBetween(this.#whole, whole);
    this.#whole = whole;
    this.#id += 1;
  }

  #send(client: Client): void {
    const { stream, sentId } = client;
    if (sentId === this.#id || stream.writableLength > CLIENT_BYTES_MAX) return;
    const follows = sentId === this.#id - 1;
    client.sentId = this.#id;
    const [event, data] = follows ? ['change', this.#change ?? {}] : ['fleet', this.#whole];
    stream.write(`id: ${this.#id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}
