import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { failureReply } from '../contract/reply.js';
import { ConvoyError } from '../errors/convoy-error.js';

/** Bounds of a server's connections. */
export interface ConnectionLimits {
  /** Maximum open connections. For one more, the oldest without a complete request is closed. */
  readonly connectionsMax: number;
  /** Time limit for a request's head. */
  readonly headersTimeout_ms: number;
  /** Time limit for a whole request. */
  readonly requestTimeout_ms: number;
  /** How often both times are checked. */
  readonly checkInterval_ms: number;
  /** Silence in both directions after which a connection is closed. Streams send a comment every 15 s. */
  readonly silence_ms: number;
  /** Time that a rejected client has to read the reply before its connection is closed. */
  readonly linger_ms: number;
}

/** Far above a fleet's clients and far below the limit of open files; bodies are small, and no reply takes minutes. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  connectionsMax: 1_000,
  headersTimeout_ms: 10_000,
  requestTimeout_ms: 30_000,
  checkInterval_ms: 5_000,
  silence_ms: 300_000,
  linger_ms: 1_000,
};

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Whether a reply is outstanding: the whole request has arrived, and its reply is not fully sent. */
function isOwed(exchange: Exchange | undefined): boolean {
  return exchange?.request.complete === true && !exchange.response.writableFinished;
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * The connections of one server. Clients that send nothing, or half a request, never block others: they make room, the
 * oldest first.
 */
export class Connections {
  /** In the order of arrival, each with its last request. */
  readonly #exchanges = new Map<Socket, Exchange | undefined>();
  /** Connections of a TLS server by their peer, until their handshake is complete. */
  readonly #handshakes = new Map<string, Socket>();

  constructor(private readonly limits: ConnectionLimits) {}

  /** Watches the connections of a server; call it before the server listens. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.#add(socket));
    // A TLS server's requests name the encrypted socket, which replaces the bare one.
    server.on('secureConnection', (socket: TLSSocket) => {
      const bare = this.#handshakes.get(peerOf(socket));
      if (bare !== undefined) this.#exchanges.delete(bare);
      this.#add(socket);
    });
    server.prependListener('request', (request, response) => {
      if (this.#exchanges.has(request.socket)) this.#exchanges.set(request.socket, { request, response });
    });
  }

  /** Replies to malformed or slow requests on the bare connection, and closes it. */
  refuse(socket: Socket): void {
    const started = this.#exchanges.get(socket)?.response;
    // A client would take a second reply for a part of the first one's body.
    if (!socket.writable || (started?.headersSent === true && !started.writableFinished)) {
      socket.destroy();
      return;
    }
    const body = JSON.stringify(failureReply(new ConvoyError('invalidHttpRequest')));
    socket.end(
      'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n' +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
    // A client may keep its side open for ever. After an immediate close it could miss the reply.
    const timer = setTimeout(() => socket.destroy(), this.limits.linger_ms).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Closes all connections without a complete request, repeatedly until the server has closed: it waits for them. */
  closeWaiting(server: Server): void {
    const close = (): void => {
      for (const [socket, exchange] of this.#exchanges) if (!isOwed(exchange)) this.#drop(socket);
    };
    close();
    const timer = setInterval(close, this.limits.linger_ms).unref();
    server.once('close', () => clearInterval(timer));
  }

  #add(socket: Socket): void {
    if (this.#exchanges.size >= this.limits.connectionsMax) this.#drop(this.#longestWaiting() ?? socket);
    if (socket.destroyed) return;
    this.#exchanges.set(socket, undefined);
    const peer = peerOf(socket);
    this.#handshakes.set(peer, socket);
    socket.once('close', () => {
      this.#exchanges.delete(socket);
      if (this.#handshakes.get(peer) === socket) this.#handshakes.delete(peer);
    });
  }

  #longestWaiting(): Socket | undefined {
    for (const [socket, exchange] of this.#exchanges) if (!isOwed(exchange)) return socket;
    return undefined;
  }

  #drop(socket: Socket): void {
    this.#exchanges.delete(socket);
    socket.destroy();
  }
}
