import { connect, type Socket } from 'node:net';
import { decodeDocument } from '../../src/bson/decode.js';
import { encodeDocument } from '../../src/bson/encode.js';
import type { Doc } from '../../src/bson/value.js';
import { FrameSplitter } from '../../src/wire/frame-splitter.js';
import { messagePrefix, readMessage } from '../../src/wire/op-msg.js';

/** A client that sends commands exactly as they are given, unlike a driver, which adds sessions and times. */
export class WireClient {
  readonly #splitter = new FrameSplitter();
  readonly #waiting: ((reply: Doc) => void)[] = [];
  #requestId = 0;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      for (const frame of this.#splitter.push(chunk)) {
        this.#waiting.shift()?.(decodeDocument(readMessage(frame).body));
      }
    });
  }

  /** @param host `address:port` */
  static async connect(host: string): Promise<WireClient> {
    const [address, port] = host.split(':');
    const socket = connect(Number(port), address);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new WireClient(socket);
  }

  /** Gives the reply, failed or not. */
  run(db: string, command: Doc): Promise<Doc> {
    const body = encodeDocument(new Map(command).set('$db', db));
    const reply = new Promise<Doc>((resolve) => this.#waiting.push(resolve));
    this.#requestId += 1;
    this.socket.write(Buffer.concat([messagePrefix(body.length, this.#requestId, 0, 0), body]));
    return reply;
  }

  close(): void {
    this.socket.destroy();
  }
}
