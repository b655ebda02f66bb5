import { connect, type Socket } from 'node:net';
import { decodeDocument } from '../../../src/bson/decode.js';
import type { Doc } from '../../../src/bson/value.js';
import { unpackFrame } from '../../../src/wire/compression.js';
import { FrameSplitter } from '../../../src/wire/frame-splitter.js';
import { readMessage } from '../../../src/wire/op-msg.js';
import { headerBytes, opCode, readHeader } from '../../../src/wire/protocol.js';

/** One message of a server. */
export interface Answer {
  readonly requestId: number;
  readonly responseTo: number;
  readonly opCode: number;
  readonly compressed: boolean;
  /** Of an OP_MSG; 0 for others. */
  readonly flags: number;
  readonly body: Doc;
}

const replyFieldsBytes = 20;

/** A client that sends bytes as they are, and reads what comes back. */
export class WirePeer {
  readonly answers: Answer[] = [];
  readonly closed: Promise<void>;
  #arrived: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    const splitter = new FrameSplitter();
    socket.on('data', (chunk: Buffer) => {
      for (const frame of splitter.push(chunk)) this.answers.push(readAnswer(frame));
      this.#arrived();
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        resolve();
        this.#arrived();
      });
    });
  }

  static async connect(port: number): Promise<WirePeer> {
    const socket = connect({ port, host: '127.0.0.1' });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new WirePeer(socket);
  }

  send(...frames: readonly Buffer[]): void {
    for (const frame of frames) this.socket.write(frame);
  }

  /** The answer of this number; undefined when the connection ends before it. */
  async answer(index: number): Promise<Answer | undefined> {
    while (this.answers.length <= index && !this.socket.destroyed) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    return this.answers[index];
  }

  /** Sends all there is to send, and waits until the server has ended the connection too. */
  async end(): Promise<void> {
    this.socket.end();
    await this.closed;
  }
}

function readAnswer(received: Buffer): Answer {
  const { frame, compressed } = unpackFrame(received);
  const header = readHeader(frame);
  if (header.opCode === opCode.message)
    return {
      ...header,
      compressed,
      flags: frame.readUInt32LE(headerBytes),
      body: decodeDocument(readMessage(frame).body),
    };
  return { ...header, compressed, flags: 0, body: decodeDocument(frame.subarray(headerBytes + replyFieldsBytes)) };
}
