import type { Socket } from 'node:net';
import { encodeDocument } from '../bson/encode.js';
import { keepDocuments } from '../bson/own-copy.js';
import type { Doc } from '../bson/value.js';
import { handshakes } from '../node/command-names.js';
import { CommandError, type CommandRequest, type ConnectionState } from '../node/command.js';
import { numberOf } from '../node/doc-fields.js';
import { runCommand } from './command-run.js';
import { unpackFrame } from './compression.js';
import { FrameSplitter } from './frame-splitter.js';
import { LinkFaults } from '../faults/link-faults.js';
import { legacyReplyPrefix, readLegacyQuery } from './legacy-query.js';
import { messagePrefix, readFlags, readMessage } from './op-msg.js';
import { parseCommand, type ParsedCommand, parseLegacyHandshake } from './parsed-command.js';
import { messageFlag, opCode, ProtocolError, readHeader } from './protocol.js';
import { ReplyWriter } from './reply-writer.js';
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
    const { frame, compressed } = unpackFrame(received);
    switch (readHeader(frame).opCode) {
      case opCode.message:
        return this.#answerMessage(frame, compressed);
      case opCode.query:
        return this.#answerQuery(frame, compressed);
      default:
        throw new ProtocolError(`operation ${readHeader(frame).opCode}`);
    }
  }

  async #answerMessage(frame: Buffer, compressed: boolean): Promise<void> {
    const flags = readFlags(frame);
    const { requestId } = readHeader(frame);
    const message = orRefusal(() => readMessage(frame));
    const parsed =
      message instanceof CommandError ? message : orRefusal(() => parseCommand(message.body, message.sequences));
    if (!(parsed instanceof CommandError)) keepInserted(frame, parsed);
    if ((flags & messageFlag.moreToCome) !== 0) await this.#run(parsed);
    else if ((flags & messageFlag.exhaustAllowed) !== 0 && !(parsed instanceof CommandError))
      await this.#stream(parsed, requestId, compressed);
    else await this.#reply(parsed, requestId, compressed);
  }

  async #reply(parsed: ParsedCommand | CommandError, responseTo: number, compressed: boolean): Promise<void> {
    const body = encodeDocument(await this.#run(parsed));
    await this.#send(messagePrefix(body.length, this.#writer.nextId(), responseTo, 0), body, compressed, parsed);
  }

  /** Answers repeatedly, as long as the command continues by itself and the client stays connected. */
  async #stream(parsed: ParsedCommand, requestId: number, compressed: boolean): Promise<void> {
    let responseTo = requestId;
    let command: ParsedCommand | undefined = parsed;
    while (command !== undefined && !this.#gone.signal.aborted) {
      const reply = await this.#run(command);
      const next = nextInvocation(command, reply);
      const body = encodeDocument(reply);
      const id = this.#writer.nextId();
      const flags = next === undefined ? 0 : messageFlag.moreToCome;
      await this.#send(messagePrefix(body.length, id, responseTo, flags), body, compressed, command);
      responseTo = id;
      command = next;
    }
  }

  async #answerQuery(frame: Buffer, compressed: boolean): Promise<void> {
    const { requestId } = readHeader(frame);
    const { db, body: query } = readLegacyQuery(frame);
    const parsed = orRefusal(() => parseLegacyHandshake(db, query));
    const body = encodeDocument(await this.#run(parsed));
    await this.#send(legacyReplyPrefix(body.length, this.#writer.nextId(), requestId), body, compressed, parsed);
  }

  #run(parsed: ParsedCommand | CommandError): ReturnType<typeof runCommand> {
    const connection = { connection: this.state, signal: this.#gone.signal };
    const prepare = (): CommandRequest => {
      if (parsed instanceof CommandError) throw parsed;
      return { ...parsed, ...connection };
    };
    return runCommand(this.node, prepare, connection);
  }

  async #send(prefix: Buffer, body: Buffer, compressed: boolean, parsed: ParsedCommand | CommandError): Promise<void> {
    const command = parsed instanceof CommandError ? '' : parsed.name;
    if (!(await this.#writer.send(prefix, body, compressed, command))) this.close();
  }
}

function keepInserted(frame: Buffer, { name, sequences }: ParsedCommand): void {
  const documents = name === 'insert' ? sequences.get('documents') : undefined;
  if (documents !== undefined) keepDocuments(frame, documents);
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

/**
 * The command with which a node continues by itself after a reply, when the client allows more than one: an awaited
 * hello from its last topology version (OP_MSG specification, exhaustAllowed). A getMore is answered once.
 * @returns undefined when the reply was the last one
 */
function nextInvocation(command: ParsedCommand, reply: Doc): ParsedCommand | undefined {
  if (numberOf(reply.get('ok')) !== 1 || !handshakes.has(command.name)) return undefined;
  const version = reply.get('topologyVersion');
  if (version === undefined || !command.body.has('topologyVersion') || !command.body.has('maxAwaitTimeMS'))
    return undefined;
  return { ...command, body: new Map(command.body).set('topologyVersion', version) };
}
