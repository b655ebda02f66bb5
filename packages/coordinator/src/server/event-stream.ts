import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Some values change with time alone: seconds of silence, time remaining. It also shows that the stream is alive. */
const TICK_MS = 1_000;
/** A comment keeps proxies from closing a silent stream. */
const KEEP_ALIVE_MS = 15_000;
/** Maximum clients; further ones get 503. */
const CLIENTS_MAX = 100;

/** One event; its data is the text of JSON. */
interface StreamedEvent {
  readonly name: string;
  readonly data: string;
}

/** A state that clients should have. */
export interface StreamedState {
  readonly whole: StreamedEvent;
  /** The same for a client that has the state before; it gets the whole without it. */
  readonly change?: StreamedEvent;
  /** Minimum time until the next one. */
  readonly gap_ms: number;
}

export interface StreamSource {
  /** Calls the listener when the state may have changed. Returns the function that unsubscribes. */
  watch(listener: () => void): () => void;
  /** The state as it is now; null while it is the one that was read last. */
  read(): StreamedState | null;
  /** Maximum bytes waiting for a slow client; above, it gets nothing until it catches up, and then the latest. */
  readonly clientBytesMax: number;
}

interface Client {
  readonly stream: ServerResponse;
  /** Id of the last event sent; 0 for none. */
  sentId: number;
}

/**
 * Sends a state and its changes to clients as server-sent events, one per gap at most, except the first after an idle
 * time. A client that missed one gets the whole state: so does one that reconnects, unless its `Last-Event-ID` is the
 * current one. Ids increase by one with every change and start at the process's start time, so a restart does not reset
 * them.
 */
export class EventStream {
  readonly #clients = new Set<Client>();
  readonly #unwatch: () => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #gap: NodeJS.Timeout | undefined;
  #changedInGap = false;
  #id: number;
  #state: StreamedState | null = null;

  constructor(
    private readonly source: StreamSource,
    now_ms: number,
  ) {
    this.#id = now_ms;
    this.#unwatch = source.watch(() => this.#changed());
    this.#timers = [setInterval(() => this.#changed(), TICK_MS), setInterval(() => this.#beat(), KEEP_ALIVE_MS)];
  }

  /**
   * Serves the stream until the server closes.
   * @param tooMany what a client reads, with 503, while there is no room for another one
   */
  serve(app: FastifyInstance, path: string, tooMany: string): void {
    app.addHook('preClose', (done) => {
      this.close();
      done();
    });
    app.get(path, (request, reply) => {
      if (!this.hasRoom()) throw new ConvoyError('notReady', tooMany);
      const lastEventId = request.headers['last-event-id'];
      reply.hijack();
      reply.raw.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      this.add(reply.raw, typeof lastEventId === 'string' ? lastEventId : undefined);
    });
  }

  /** Whether another client may connect. */
  hasRoom(): boolean {
    return this.#clients.size < CLIENTS_MAX;
  }

  /**
   * Adds a client and sends it the current state.
   * @param stream with its headers sent
   * @param lastEventId the last id that a reconnecting client has seen
   */
  add(stream: ServerResponse, lastEventId?: string): void {
    // A closed stream emits no further close event.
    if (stream.destroyed) return;
    if (this.#clients.size === 0) this.#read();
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
    if (this.#clients.size === 0) return;
    if (this.#gap !== undefined) {
      this.#changedInGap = true;
      return;
    }
    this.#read();
    for (const client of this.#clients) this.#send(client);
    this.#gap = setTimeout(() => this.#endGap(), this.#state?.gap_ms);
  }

  #endGap(): void {
    this.#gap = undefined;
    if (!this.#changedInGap) return;
    this.#changedInGap = false;
    this.#changed();
  }

  /** Reads the state, and gives it a new id when it changed. */
  #read(): void {
    const state = this.source.read();
    if (state === null) return;
    this.#state = state;
    this.#id += 1;
  }

  #send(client: Client): void {
    const { stream, sentId } = client;
    if (this.#state === null || sentId === this.#id || stream.writableLength > this.source.clientBytesMax) return;
    const { whole, change } = this.#state;
    const { name, data } = sentId === this.#id - 1 && change !== undefined ? change : whole;
    client.sentId = this.#id;
    stream.write(`id: ${this.#id}\nevent: ${name}\ndata: ${data}\n\n`);
  }

  #beat(): void {
    for (const { stream } of this.#clients) {
      if (stream.writableLength <= this.source.clientBytesMax) stream.write(': keep-alive\n\n');
    }
  }
}
