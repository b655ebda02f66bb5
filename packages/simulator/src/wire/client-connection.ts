import type { Socket } from 'node:net';
import { encodeDocument } from '../bson/encode.js';
import { keepDocuments } from '../bson/own-copy.js';
import { CommandError, type CommandRequest, type ConnectionState } from '../node/command.js';
import { runCommand } from './command-run.js';
import { unpackFrame } from './compression.js';
import { nextInvocation } from './exhaust.js';
import { FrameSplitter } from './frame-splitter.js';
import { LinkFaults } from './link-faults.js';
import { legacyRefusal, legacyReplyPrefix, readLegacyQuery } from './legacy-query.js';
import { messagePrefix, readFlags, readMessage } from './op-msg.js';
import { parseCommand, type ParsedCommand, parseLegacyCommand } from './parsed-command.js';
import { messageFlag, opCode, ProtocolError, readHeader } from './protocol.js';
import { plainForm, type ReplyForm, ReplyWriter } from './reply-writer.js';
import type { ServedNode } from './served-node.js';

/** Messages that may queue behind the running one before the socket is no longer read. */
const waitingFramesMax = 4;

/** One client: reads its messages, runs them one after the other, writes the answers. */
export class ClientConnection {
  readonly #splitter = new FrameSplitter();
  readonly #waiting: Buffer[] = [];
  readonly #gone = new AbortController();
  readonly #writer: ReplyWriter;
  #working = false;

  constructor(
    private readonly socket: Socket,
    private readonly node: ServedNode,
    private readonly state: ConnectionState,
    private readonly faults: LinkFaults = new LinkFaults(),
  ) {
    this.#writer = new ReplyWriter(socket, faults, this.#gone.signal);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('close', () => this.#gone.abort());
    socket.on('end', () => this.#gone.abort());
    socket.on('error', () => socket.destroy());
  }

  close(): void {
    this.#gone.abort();
    this.socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const admitted = this.faults.admitted(chunk.length);
    try {
      this.#waiting.push(...this.#splitter.push(chunk.subarray(0, admitted)));
    } catch {
      this.close();
      return;
    }
    if (admitted < chunk.length) this.close();
    if (this.#waiting.length > waitingFramesMax) this.socket.pause();
    if (!this.#working) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    try {
      for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
        if (this.#waiting.length <= waitingFramesMax) this.socket.resume();
        await this.#answerFrame(frame);
      }
    } catch {
      this.close();
    }
    this.#working = false;
  }

  async #answerFrame(received: Buffer): Promise<void> {
    const { frame, compressorId } = unpackFrame(received);
    switch (readHeader(frame).opCode) {
      case opCode.message:
        return this.#answerMessage(frame, compressorId);
      case opCode.query:
        return this.#answerQuery(frame, { ...plainForm, compressorId });
      default:
        throw new ProtocolError(`operation ${readHeader(frame).opCode}`);
    }
  }

  async #answerMessage(frame: Buffer, compressorId: number | undefined): Promise<void> {
    const flags = readFlags(frame);
    const form = { compressorId, checksum: (flags & messageFlag.checksumPresent) !== 0 };
    const { requestId } = readHeader(frame);
    const message = orRefusal(() => readMessage(frame));
    const parsed =
      message instanceof CommandError ? message : orRefusal(() => parseCommand(message.body, message.sequences));
    if (!(parsed instanceof CommandError)) keepInserted(frame, parsed);
    if ((flags & messageFlag.moreToCome) !== 0) await this.#run(parsed);
    else if ((flags & messageFlag.exhaustAllowed) !== 0 && !(parsed instanceof CommandError))
      await this.#stream(parsed, requestId, form);
    else await this.#reply(parsed, requestId, form);
  }

  async #reply(parsed: ParsedCommand | CommandError, responseTo: number, form: ReplyForm): Promise<void> {
    const body = encodeDocument(await this.#run(parsed));
    await this.#send(
      messagePrefix(body.length, this.#writer.nextId(), responseTo, replyFlags(form, false)),
      body,
      form,
      parsed,
    );
  }

  /** Answers repeatedly, as long as the command continues by itself and the client stays connected. */
  async #stream(parsed: ParsedCommand, requestId: number, form: ReplyForm): Promise<void> {
    let responseTo = requestId;
    let command: ParsedCommand | undefined = parsed;
    while (command !== undefined && !this.#gone.signal.aborted) {
      const reply = await this.#run(command);
      const next = nextInvocation(command, reply, this.node.streamsCursors === true);
      const body = encodeDocument(reply);
      const id = this.#writer.nextId();
      await this.#send(
        messagePrefix(body.length, id, responseTo, replyFlags(form, next !== undefined)),
        body,
        form,
        command,
      );
      responseTo = id;
      command = next;
    }
  }

  async #answerQuery(frame: Buffer, form: ReplyForm): Promise<void> {
    const { requestId } = readHeader(frame);
    const { db, body: query } = readLegacyQuery(frame);
    const parsed =
      db === undefined
        ? undefined
        : orRefusal(() => parseLegacyCommand(db, query, (name) => this.node.takesLegacy?.(name) ?? true));
    const body = parsed === undefined ? legacyRefusal() : encodeDocument(await this.#run(parsed));
    await this.#send(
      legacyReplyPrefix(body.length, this.#writer.nextId(), requestId, parsed === undefined),
      body,
      form,
      parsed,
    );
  }

  #run(parsed: ParsedCommand | CommandError): ReturnType<typeof runCommand> {
    const connection = { connection: this.state, signal: this.#gone.signal };
    const prepare = (): CommandRequest => {
      if (parsed instanceof CommandError) throw parsed;
      return { ...parsed, ...connection };
    };
    return runCommand(this.node, prepare, connection);
  }

  async #send(
    prefix: Buffer,
    body: Buffer,
    form: ReplyForm,
    parsed: ParsedCommand | CommandError | undefined,
  ): Promise<void> {
    const command = parsed === undefined || parsed instanceof CommandError ? '' : parsed.name;
    if (!(await this.#writer.send(prefix, body, form, command))) this.close();
  }
}

function keepInserted(frame: Buffer, { name, sequences }: ParsedCommand): void {
  const documents = name === 'insert' ? sequences.get('documents') : undefined;
  if (documents !== undefined) keepDocuments(frame, documents);
}

function replyFlags({ checksum }: ReplyForm, moreToCome: boolean): number {
  return (checksum ? messageFlag.checksumPresent : 0) | (moreToCome ? messageFlag.moreToCome : 0);
}

/** The reply to a message, or its failure as a reply. */
function orRefusal<Result>(read: () => Result): Result | CommandError {
  try {
    return read();
  } catch (error) {
    if (error instanceof CommandError) return error;
    throw error;
  }
}
