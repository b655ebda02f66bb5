import type { Document } from 'mongodb';
import type {
  CallOptions,
  NodeClient,
  RawCursor,
  RawWrite,
  WriteOutcome,
  WriteTicket,
} from '../../../src/cluster/node-client.js';

/** A client that wraps another one. */
export class ClientProxy implements NodeClient {
  constructor(private readonly inner: NodeClient) {}

  get label(): string {
    return this.inner.label;
  }

  command(database: string, command: Document, options: CallOptions): Promise<Document> {
    return this.inner.command(database, command, options);
  }

  openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    return this.inner.openCursor(database, command, options);
  }

  write(write: RawWrite, ticket: WriteTicket | null, options: CallOptions): Promise<WriteOutcome> {
    return this.inner.write(write, ticket, options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
