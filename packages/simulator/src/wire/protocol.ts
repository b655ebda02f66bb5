/** Numbers of the MongoDB wire protocol (manual: "MongoDB Wire Protocol"). */

export const headerBytes = 16;

export const opCode = { reply: 1, query: 2004, compressed: 2012, message: 2013 } as const;

export const messageFlag = { checksumPresent: 1, moreToCome: 2, exhaustAllowed: 1 << 16 } as const;

/** Largest message that a server accepts, as in its `hello` (`maxMessageSizeBytes`). */
export const messageBytesMax = 48_000_000;

interface MessageHeader {
  readonly requestId: number;
  readonly responseTo: number;
  readonly opCode: number;
}

/** A malformed message. The server closes the connection, as the real one does. */
export class ProtocolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtocolError';
  }
}

/** @param frame a whole message, header included */
export function readHeader(frame: Buffer): MessageHeader {
  return { requestId: frame.readInt32LE(4), responseTo: frame.readInt32LE(8), opCode: frame.readInt32LE(12) };
}
