import type { Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

/** OP_MSG, the one kind of message that commands are sent in after the first handshake. */
const opMsg = 2013;
const headerBytes = 16;
/** Places in the header. */
const requestIdAt = 4;
const responseToAt = 8;
const operationAt = 12;
/** Behind the flags stands the kind of the first section: 0 is the command itself. */
const kindAt = headerBytes + 4;

/** A command on its way to a server, without its document sequences. */
export interface SentCommand {
  readonly name: string;
  readonly database: string;
  /** Its first argument, for most commands the collection. */
  readonly target: string;
  readonly body: Document;
}

/** The command in a message; null for messages of other kinds. */
export function commandOf(message: Buffer): SentCommand | null {
  if (message.readInt32LE(operationAt) !== opMsg || message[kindAt] !== 0) return null;
  const body = replyOf(message);
  const name = Object.keys(body)[0] ?? '';
  return { name, database: String(body['$db']), target: String(body[name]), body };
}

/** A server's reply. */
export function replyOf(message: Buffer): Document {
  const from = kindAt + 1;
  return BSON.deserialize(message.subarray(from, from + message.readInt32LE(from)));
}

export function requestIdOf(message: Buffer): number {
  return message.readInt32LE(requestIdAt);
}

export function responseToOf(message: Buffer): number {
  return message.readInt32LE(responseToAt);
}

/** The complete messages of a socket. */
export async function* messagesOf(socket: Socket): AsyncGenerator<Buffer> {
  let received = Buffer.alloc(0);
  for await (const bytes of socket) {
    received = Buffer.concat([received, bytes as Buffer]);
    while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
      const message = received.subarray(0, received.readInt32LE(0));
      received = received.subarray(message.length);
      yield message;
    }
  }
}
