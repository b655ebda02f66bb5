import type { MongoClient } from 'mongodb';
import { losesConnection } from '../failure.js';

/**
 * The driver clients of a node with several addresses (the routers of one cluster). One is used at a time, because a
 * cursor lives on one router. A network failure switches to the next; open cursors stay on their own.
 */
export class ClientRing {
  private readonly clients: (MongoClient | undefined)[];
  private position = 0;

  /** @param makers one per address, called when the address is first used */
  constructor(private readonly makers: readonly (() => MongoClient)[]) {
    if (makers.length === 0) throw new Error('ClientRing: no address');
    this.clients = makers.map(() => undefined);
  }

  current(): MongoClient {
    const maker = this.makers[this.position];
    if (maker === undefined) throw new Error('ClientRing: position out of range');
    return (this.clients[this.position] ??= maker());
  }

  /** `host:port` of the client in use. */
  get host(): string {
    return String(this.current().options.hosts[0]);
  }

  /** Switches to the next client if the failed one is in use and the failure is the node's fault. */
  failed(client: MongoClient, error: unknown): void {
    if (client === this.clients[this.position] && losesConnection(error))
      this.position = (this.position + 1) % this.makers.length;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client?.close() ?? Promise.resolve()));
  }
}
