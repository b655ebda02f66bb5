import type { Socket } from 'node:net';
import { greeting, insertReply, type StoredBatches } from './echo-replies.js';

const headerBytes = 16;
/** Header, flags, section kind, size, element type and the longest relevant command name. */
const headBytes = 48;
/** Offset of the command name: after header, flags, section kind, document size and element type. */
const nameStart = headerBytes + 10;
const messageCode = 2013;
const replyCode = 1;
/** Fields between header and document in the reply to the driver's first, legacy message. */
const legacyPrefix = Buffer.alloc(20);
legacyPrefix.writeInt32LE(1, 16);

/** One client of the echo, which reads only the first bytes of a message. */
export class EchoConnection {
  readonly #head = Buffer.alloc(headBytes);
  #received = 0;
  #length = 0;
  #batchesSent = 0;

  constructor(
    private readonly socket: Socket,
    private readonly batches: StoredBatches,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', () => socket.destroy());
  }

  #take(chunk: Buffer): void {
    let offset = 0;
    while (offset < chunk.length) {
      const missing = this.#received < headerBytes ? headerBytes - this.#received : this.#length - this.#received;
      const taken = Math.min(missing, chunk.length - offset);
      if (this.#received < headBytes)
        chunk.copy(this.#head, this.#received, offset, offset + Math.min(taken, headBytes - this.#received));
      offset += taken;
      this.#received += taken;
      if (this.#received === headerBytes) this.#length = this.#head.readInt32LE(0);
      if (this.#received >= headerBytes && this.#received === this.#length) {
        this.#answer();
        this.#received = 0;
      }
    }
  }

  #answer(): void {
    if (this.#head.readInt32LE(12) !== messageCode) {
      this.#send(replyCode, legacyPrefix, greeting);
      return;
    }
    switch (this.#head.toString('latin1', nameStart, this.#head.indexOf(0, nameStart))) {
      case 'insert':
        this.#send(messageCode, insertReply);
        return;
      case 'find':
        this.#batchesSent = 1;
        this.#send(messageCode, this.batches.first);
        return;
      case 'getMore':
        this.#batchesSent += 1;
        this.#send(messageCode, this.#batchesSent < this.batches.count ? this.batches.next : this.batches.last);
        return;
      default:
        this.#send(messageCode, Buffer.alloc(5), greeting);
    }
  }

  #send(code: number, ...parts: Uint8Array[]): void {
    const header = Buffer.alloc(headerBytes);
    header.writeInt32LE(
      parts.reduce((sum, part) => sum + part.length, headerBytes),
      0,
    );
    header.writeInt32LE(this.#head.readInt32LE(4), 8);
    header.writeInt32LE(code, 12);
    this.socket.cork();
    for (const part of [header, ...parts]) this.socket.write(part);
    this.socket.uncork();
  }
}
