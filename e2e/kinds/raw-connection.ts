import { connect, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

const headerBytes = 16;
const opMsg = 2013;
/** Statements of one command: far below the servers' 48 MB and 100,000. */
const statementsMax = 1_000;

/**
 * A connection that sends statements as they are, byte for byte: the driver can neither write values of deprecated
 * types nor keep every bit of the others. One command at a time.
 */
export class RawConnection implements AsyncDisposable {
  private received = Buffer.alloc(0);
  private answered: { resolve: (reply: Document) => void; reject: (error: Error) => void } | null = null;
  private requests = 0;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (bytes: Buffer) => this.receive(bytes));
    socket.once('error', (error) => this.answered?.reject(error));
    socket.once('close', () => this.answered?.reject(new Error('The server has closed the connection.')));
  }

  /** @param connectionString without credentials; its first address is used */
  static open(connectionString: string): Promise<RawConnection> {
    const [host = '', port = ''] = (/^mongodb:\/\/([^/,?]+)/.exec(connectionString)?.[1] ?? '').split(':');
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), host, () => resolve(new RawConnection(socket)));
      socket.once('error', reject);
    });
  }

  /**
   * Inserts documents at majority, in order.
   * @throws Error with the server's reply when any of them is refused
   */
  async insert(database: string, collection: string, documents: readonly Uint8Array[]): Promise<void> {
    await this.write({ insert: collection, $db: database }, 'documents', documents);
  }

  /**
   * Sends a write command whose statements (the field `documents`, `updates` or `deletes`) are given as bytes.
   * @returns the sum of `n` over its replies
   * @throws Error with the server's reply when any statement fails
   */
  async write(command: Document, field: string, statements: readonly Uint8Array[]): Promise<number> {
    let written = 0;
    for (let from = 0; from < statements.length; from += statementsMax) {
      const body = BSON.serialize({ ...command, ordered: true, writeConcern: { w: 'majority' } });
      const reply = await this.send(body, field, statements.slice(from, from + statementsMax));
      if (reply['ok'] !== 1 || reply['writeErrors'] !== undefined)
        throw new Error(`${Object.keys(command)[0] ?? ''}: ${JSON.stringify(reply).slice(0, 1_000)}`);
      written += reply['n'] as number;
    }
    return written;
  }

  private send(body: Uint8Array, field: string, statements: readonly Uint8Array[]): Promise<Document> {
    const name = Buffer.from(`${field}\0`);
    const size = Buffer.alloc(4);
    size.writeInt32LE(4 + name.length + statements.reduce((sum, { length }) => sum + length, 0));
    const sections = [Buffer.alloc(4), Buffer.from([0]), body, Buffer.from([1]), size, name, ...statements];
    const header = Buffer.alloc(headerBytes);
    header.writeInt32LE(headerBytes + sections.reduce((sum, { length }) => sum + length, 0), 0);
    header.writeInt32LE((this.requests += 1), 4);
    header.writeInt32LE(opMsg, 12);
    return new Promise((resolve, reject) => {
      this.answered = { resolve, reject };
      this.socket.write(Buffer.concat([header, ...sections]));
    });
  }

  /** A reply is one section of kind 0 after the flags. */
  private receive(bytes: Buffer): void {
    this.received = Buffer.concat([this.received, bytes]);
    if (this.received.length < 4 || this.received.length < this.received.readInt32LE(0)) return;
    const reply = this.received.subarray(headerBytes + 4 + 1, this.received.readInt32LE(0));
    this.received = Buffer.alloc(0);
    this.answered?.resolve(BSON.deserialize(reply));
    this.answered = null;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise((resolve) => {
      this.answered = null;
      this.socket.end(() => resolve());
    });
  }
}
