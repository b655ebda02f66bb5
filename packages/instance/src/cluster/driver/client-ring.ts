import type { MongoClient } from 'mongodb';
import { losesConnection } from '../failure.js';

/**
 * The clients of a node with several addresses (routers of one cluster), one of which is used at a time, because
 * a cursor lives on one router. After a network failure the next is taken; cursors go on with the one they began with.
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

  /** Moves on when the failed client is the present one and the failure speaks against its node. */
  failed(client: MongoClient, error: unknown): void {
    if (client === this.clients[this.position] && losesConnection(error))
      this.position = (this.position + 1) % this.makers.length;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client?.close() ?? Promise.resolve()));
  }
}
