import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** The secret of every receiver of the tests. */
export const receiverSecret = 'a secret of the tests';

/** A notification as it arrived. */
export interface Arrival {
  readonly path: string;
  readonly event: string;
  readonly delivery: string;
  /** Whether its signature fits its timestamp and body. */
  readonly isSigned: boolean;
  readonly body: Record<string, unknown>;
}

/** A receiver of notifications that answers what a test wants. */
export class NotificationReceiver {
  readonly arrivals: Arrival[] = [];
  /** Ends every reply; the request has been read by then. */
  answer: (response: ServerResponse, arrival: Arrival) => void = (response) => void response.writeHead(204).end();
  readonly #server: Server;
  readonly #scheme: string;

  private constructor(tls: { readonly key: string; readonly cert: string } | undefined) {
    const listener: RequestListener = (request, response) => void this.#take(request, response);
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  }

  /** @param tls key and certificate in PEM; HTTP without */
  static async start(tls?: { readonly key: string; readonly cert: string }): Promise<NotificationReceiver> {
    const receiver = new NotificationReceiver(tls);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { headers, url: path = '' } = request;
    const expected = createHmac('sha256', receiverSecret)
      .update(`${String(headers['convoy-timestamp'])}.${body}`)
      .digest();
    const given = Buffer.from(String(headers['convoy-signature']).replace('sha256=', ''), 'hex');
    const arrival = {
      path,
      event: String(headers['convoy-event']),
      delivery: String(headers['convoy-delivery']),
      isSigned: given.length === expected.length && timingSafeEqual(given, expected),
      body: JSON.parse(body) as Record<string, unknown>,
    };
    this.arrivals.push(arrival);
    this.answer(response, arrival);
  }
}
