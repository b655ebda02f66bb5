import type { Socket } from 'node:net';
import { Double, Int32 } from 'bson';
import { encodeDocument } from '../bson/encode.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandRequest, type ConnectionState } from '../node/command.js';
import { readCommandBody } from './command-body.js';
import { packFrame, unpackFrame } from './compression.js';
import { ConnectionClosedByFailPoint } from './fail-command.js';
import { FrameSplitter } from './frame-splitter.js';
import { legacyReplyPrefix, readLegacyQuery } from './legacy-query.js';
import { messagePrefix, readMessage } from './op-msg.js';
import { headerBytes, messageFlag, opCode, ProtocolError, readHeader } from './protocol.js';
import type { CommandOutcome, ServedNode } from './served-node.js';

/** Messages that may wait behind the one in work before the socket is no longer read. */
const waitingFramesMax = 4;
/** Commands whose answers are streamed when the client allows it. */
const streamedCommands: ReadonlySet<string> = new Set(['hello', 'isMaster', 'ismaster']);

/** One client: reads its messages, runs them one after the other, writes the answers. */
export class ClientConnection {
  readonly #splitter = new FrameSplitter();
  readonly #waiting: Buffer[] = [];
  readonly #gone = new AbortController();
  #working = false;
  #replyId = 0;

  constructor(
    private readonly socket: Socket,
    private readonly node: ServedNode,
    private readonly state: ConnectionState,
  ) {
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
    try {
      this.#waiting.push(...this.#splitter.push(chunk));
    } catch {
      this.close();
      return;
    }
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
    const compressed = readHeader(received).opCode === opCode.compressed;
    const frame = unpackFrame(received);
    const header = readHeader(frame);
    const content = frame.subarray(headerBytes);
    if (header.opCode === opCode.query) {
      const query = readLegacyQuery(content);
      const reply = encodeDocument(await this.#run(query.db, query.body, new Map()));
      await this.#send(legacyReplyPrefix(reply.length, this.#nextReplyId(), header.requestId), reply, false);
      return;
    }
    if (header.opCode !== opCode.message) throw new ProtocolError(`operation ${header.opCode}`);
    const message = readMessage(content);
    const exhaust = (message.flags & messageFlag.exhaustAllowed) !== 0;
    if (exhaust && (await this.#stream(message.body, header.requestId))) return;
    const reply = await this.#run(undefined, message.body, message.sequences);
    if ((message.flags & messageFlag.moreToCome) !== 0) return;
    const bytes = encodeDocument(reply);
    await this.#send(messagePrefix(bytes.length, this.#nextReplyId(), header.requestId, 0), bytes, compressed);
  }

  /** Answers an awaited hello again and again, as long as the client stays (streaming protocol of the SDAM specification). */
  async #stream(bodyBytes: Buffer, requestId: number): Promise<boolean> {
    const { body } = readCommandBody(bodyBytes);
    const name = body.keys().next().value ?? '';
    if (!streamedCommands.has(name) || !body.has('maxAwaitTimeMS')) return false;
    let responseTo = requestId;
    while (!this.#gone.signal.aborted) {
      const reply = await this.#runBody(textOf(body.get('$db')), body, new Map());
      const version = reply.get('topologyVersion');
      if (version !== undefined) body.set('topologyVersion', version);
      const bytes = encodeDocument(reply);
      const id = this.#nextReplyId();
      await this.#send(messagePrefix(bytes.length, id, responseTo, messageFlag.moreToCome), bytes, false);
      responseTo = id;
    }
    return true;
  }

  async #run(db: string | undefined, bodyBytes: Uint8Array, sent: ReadonlyMap<string, Uint8Array[]>): Promise<Doc> {
    const { body, sequences } = readCommandBody(bodyBytes);
    const all = sequences.size === 0 ? sent : new Map([...sent, ...sequences]);
    return this.#runBody(db ?? textOf(body.get('$db')), unwrapLegacyQuery(body), all);
  }

  async #runBody(db: string, body: Doc, sequences: ReadonlyMap<string, Uint8Array[]>): Promise<Doc> {
    const name = body.keys().next().value ?? '';
    const request: CommandRequest = { db, name, body, sequences, connection: this.state, signal: this.#gone.signal };
    let outcome: CommandOutcome = 'success';
    let reply: Doc;
    try {
      reply = await this.node.run(request);
      if (!reply.has('ok')) reply.set('ok', new Double(1));
    } catch (error) {
      if (error instanceof ConnectionClosedByFailPoint) throw error;
      const failure = asCommandError(error);
      outcome = failure.code === 59 ? 'unknownCommand' : 'failed';
      reply = failureReply(failure);
    }
    this.node.addReplyFields(reply, request, outcome);
    return reply;
  }

  #nextReplyId(): number {
    this.#replyId = (this.#replyId + 1) & 0x7fffffff;
    return this.#replyId;
  }

  async #send(prefix: Buffer, body: Buffer, compressed: boolean): Promise<void> {
    if (this.#gone.signal.aborted) return;
    let drained: boolean;
    if (compressed) {
      drained = this.socket.write(packFrame(Buffer.concat([prefix, body])));
    } else {
      this.socket.cork();
      this.socket.write(prefix);
      drained = this.socket.write(body);
      this.socket.uncork();
    }
    if (!drained) await this.#drain();
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.socket.off('drain', done);
        this.#gone.signal.removeEventListener('abort', done);
        resolve();
      };
      this.socket.once('drain', done);
      this.#gone.signal.addEventListener('abort', done);
    });
  }
}

/** Old drivers wrap a command that has a read preference as `{$query: command, $readPreference: …}`. */
function unwrapLegacyQuery(body: Doc): Doc {
  const inner = body.get('$query') ?? body.get('query');
  return body.keys().next().value === '$query' && inner instanceof Map ? inner : body;
}

function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : 'admin';
}

function asCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const message = error instanceof Error ? `${error.message} ${error.stack ?? ''}` : String(error);
  return new CommandError(8, 'UnknownError', message);
}

/** The answer to a failed command; `code` 0 stands for failures that the server reports without one. */
export function failureReply(failure: CommandError): Doc {
  const reply: Doc = new Map<string, Value>([
    ['ok', new Double(0)],
    ['errmsg', failure.message],
  ]);
  if (failure.code !== 0) reply.set('code', new Int32(failure.code)).set('codeName', failure.codeName);
  for (const [name, value] of failure.extra) reply.set(name, value);
  if (failure.labels.length > 0) reply.set('errorLabels', [...failure.labels]);
  return reply;
}
