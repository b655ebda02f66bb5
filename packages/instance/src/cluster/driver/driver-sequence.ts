import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { BSON } from 'mongodb';
import { elementType } from '../../bson/element-type.js';
import { RawValue } from '../../bson/scan.js';
import { isLossless, losslessDocument } from '../../bson/sent-value.js';

/** The driver internals that Convoy uses. */
interface DriverInternals {
  /** A command field that is sent as its own section. */
  DocumentSequence: new (field: string) => { toBin(): Uint8Array };
  /** A message; its first part is the header and the flags. */
  OpMsgRequest: new (database: string, command: object, options: object) => Message;
  Connection: { prototype: { writeCommand: WriteCommand } };
}

interface Message {
  command?: object;
  toBin(): Uint8Array[];
}

/** Sends a message and waits until the socket has accepted it. */
type WriteCommand = (
  this: { socket: Socket },
  message: Message,
  options: { agreedCompressor?: string },
) => Promise<void>;

/** A section starts with its kind and its size, before the field's name. */
const sectionHead_bytes = 5;
/** The zero byte that ends the field's name. */
const nameEnd_bytes = 1;

/** Smallest buffer: small sections share buffers too. */
const bufferBytesMin = 256 * 1024;
/** Larger buffers, which few bulk writes need, are not pooled. */
const keptBytesMax = 4 * 2 ** 20;
/** Maximum number of pooled buffers: a section needs its buffer only until the socket has accepted it. */
const freeMax = 4;

/**
 * Reusable buffers for the statements of bulk writes. New buffers for each write would be megabytes of garbage outside
 * the heap, and V8 scans the whole heap for every 64 MB of that.
 */
export class SectionBuffers {
  readonly #free: Buffer[] = [];

  /** A buffer of at least this many bytes, with undefined content. */
  take(bytes: number): Buffer {
    const fitting = this.#free.findIndex((buffer) => buffer.length >= bytes);
    const [free] = fitting < 0 ? [] : this.#free.splice(fitting, 1);
    return free ?? Buffer.allocUnsafeSlow(Math.max(bufferBytesMin, 2 ** Math.ceil(Math.log2(bytes))));
  }

  /** Returns a buffer that is no longer read. */
  give(buffer: Buffer): void {
    if (buffer.length <= keptBytesMax && this.#free.length < freeMax) this.#free.push(buffer);
  }
}

const buffers = new SectionBuffers();

/** Statements as a document sequence of OP_MSG: kind 1, size, field name, documents. */
class Section {
  readonly #headBytes: number;
  readonly bytes: number;

  constructor(
    private readonly field: string,
    private readonly statements: readonly Uint8Array[],
  ) {
    this.#headBytes = sectionHead_bytes + field.length + nameEnd_bytes;
    this.bytes = statements.reduce((bytes, statement) => bytes + statement.length, this.#headBytes);
  }

  /** @param buffer at least as long as the section */
  writeTo(buffer: Buffer): void {
    buffer[0] = 1;
    // The size counts itself, but not the kind.
    buffer.writeInt32LE(this.bytes - 1, 1);
    buffer.write(`${this.field}\0`, sectionHead_bytes, 'latin1');
    let at = this.#headBytes;
    for (const statement of this.statements) {
      buffer.set(statement, at);
      at += statement.length;
    }
  }
}

/** The value of a command's field, and the section in which it is sent. */
interface Sequence {
  readonly section: Section;
  /** `sendApart` sends the section; it is not part of the message. */
  apart: boolean;
}

interface Sender {
  make(field: string, statements: readonly Uint8Array[]): object;
  writeCommand: WriteCommand;
}

/**
 * Makes the driver send sections of statements unchanged. By default it copies each statement three times into new
 * buffers. This is not public API: only this file knows it.
 */
function senderOf({ DocumentSequence, Connection }: DriverInternals): Sender {
  class ReadyMadeSequence extends DocumentSequence implements Sequence {
    readonly section: Section;
    apart = false;

    constructor(field: string, statements: readonly Uint8Array[]) {
      super(field);
      this.section = new Section(field, statements);
    }

    override toBin(): Uint8Array {
      const bytes = Buffer.allocUnsafe(this.apart ? 0 : this.section.bytes);
      if (!this.apart) this.section.writeTo(bytes);
      return bytes;
    }
  }
  const { writeCommand } = Connection.prototype;
  return {
    make: (field, statements) => new ReadyMadeSequence(field, statements),
    writeCommand(message, options) {
      const sequence = Object.values(message.command ?? {}).find((value) => value instanceof ReadyMadeSequence) as
        Sequence | undefined;
      if (sequence === undefined || options.agreedCompressor !== 'none')
        return writeCommand.call(this, message, options);
      sendApart(this.socket, message, sequence);
      if (!this.socket.writableNeedDrain) return Promise.resolve();
      // An empty message: the driver waits, as after every message, until the socket has accepted all earlier ones.
      return writeCommand.call(this, { toBin: () => [] }, options);
    },
  };
}

/** Sends a message whose statements are in a reusable buffer. */
function sendApart(socket: Socket, message: Message, sequence: Sequence): void {
  const { section } = sequence;
  sequence.apart = true;
  const head = Buffer.concat(message.toBin());
  head.writeInt32LE(head.length + section.bytes, 0);
  const buffer = buffers.take(section.bytes);
  section.writeTo(buffer);
  socket.cork();
  socket.write(head);
  socket.write(buffer.subarray(0, section.bytes), () => buffers.give(buffer));
  socket.uncork();
}

/**
 * Whether a message sent in parts has the same bytes as the driver's own message, and whether that one has the expected
 * format.
 */
function sendsAsExpected({ OpMsgRequest }: DriverInternals, sender: Sender): boolean {
  const statement = BSON.serialize({ a: 1 });
  const message = (): Message =>
    new OpMsgRequest('d', { insert: 'c', f: sender.make('f', [statement]) }, { requestId: 1 });
  const sent: Uint8Array[] = [];
  const socket = {
    writableNeedDrain: false,
    cork: () => undefined,
    uncork: () => undefined,
    write: (bytes: Uint8Array) => sent.push(bytes),
  };
  void sender.writeCommand.call({ socket: socket as unknown as Socket }, message(), { agreedCompressor: 'none' });
  const whole = Buffer.concat(message().toBin());
  const expected = Buffer.concat([Buffer.from([1, 6 + statement.length, 0, 0, 0, 0x66, 0]), statement]);
  return (
    whole.equals(Buffer.concat(sent)) &&
    whole.readInt32LE(0) === whole.length &&
    whole.subarray(-expected.length).equals(expected)
  );
}

/** @returns null if a driver upgrade has moved or changed the internals */
function installSender(): Sender | null {
  try {
    const require = createRequire(import.meta.url);
    const internals = {
      ...require('mongodb/lib/cmap/commands'),
      ...require('mongodb/lib/cmap/connection'),
    } as DriverInternals;
    const sender = senderOf(internals);
    if (!sendsAsExpected(internals, sender)) return null;
    internals.Connection.prototype.writeCommand = sender.writeCommand;
    return sender;
  } catch {
    return null;
  }
}

const sender = installSender();

/** True if statements are sent as ready-made buffers; false if they take the slow public API. */
export const sendsReadyMadeBuffers = sender !== null;

/**
 * The value of a command field that carries statements (`documents`, `updates`, `deletes`).
 * @param statements serialised documents, sent without decoding if the driver allows it
 */
export function statementField(field: string, statements: readonly Uint8Array[]): unknown {
  return sender === null ? decodedStatements(statements) : sender.make(field, statements);
}

/**
 * The public API: decodes into Maps, which keep every field's order and every value's type.
 * @throws TypeError for a statement that the driver would not encode to the same bytes
 */
export function decodedStatements(statements: readonly Uint8Array[]): Map<string, unknown>[] {
  return statements.map((statement) => {
    if (isLossless(new RawValue(elementType.document, statement))) return losslessDocument(statement);
    throw new TypeError(
      'A statement holds a DBPointer or a text that is not UTF-8. Only a driver that sends ready-made buffers ' +
        'can send it.',
    );
  });
}
