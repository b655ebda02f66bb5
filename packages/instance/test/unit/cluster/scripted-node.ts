import { createServer, type Server, type Socket } from 'node:net';
import { BSON, Long, Timestamp, type Document } from 'mongodb';

/** One command as it came over the wire. */
export interface ReceivedCommand {
  name: string;
  body: Document;
  /** Document sequences by field, as bytes. */
  sequences: Map<string, Buffer[]>;
}

/** Answers a command: a reply, no reply at all (`hang`) or a closed connection (`disconnect`). */
export type Script = (command: ReceivedCommand) => Document | 'hang' | 'disconnect';

const opReply = 1;
const opQuery = 2004;
const opMsg = 2013;

const hello = {
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 13,
  ok: 1,
};

/**
 * A node that speaks the wire protocol and answers from a script: for tests of the client's behaviour, not of
 * MongoDB's.
 */
export class ScriptedNode {
  readonly received: ReceivedCommand[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly script: Script,
    private readonly identity: Document,
  ) {
    server.on('connection', (socket) => this.serve(socket));
  }

  /** @param identity what `hello` reports besides the usual; a router by default */
  static async start(script: Script, identity: Document = { msg: 'isdbgrid' }): Promise<ScriptedNode> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ScriptedNode(server, script, identity);
  }

  get host(): string {
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '';
  }

  get connectionString(): string {
    return `mongodb://${this.host}/`;
  }

  /** The commands of a name, in order of arrival. */
  named(name: string): ReceivedCommand[] {
    return this.received.filter((command) => command.name === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let pending = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (data) => {
      pending = Buffer.concat([pending, data]);
      while (pending.length >= 4 && pending.length >= pending.readInt32LE(0)) {
        const size = pending.readInt32LE(0);
        this.answer(socket, pending.subarray(0, size));
        pending = pending.subarray(size);
      }
    });
  }

  private answer(socket: Socket, message: Buffer): void {
    const operation = message.readInt32LE(12);
    const command = operation === opQuery ? queryCommand(message) : messageCommand(message);
    const reply = this.replyTo(command);
    if (reply === 'hang') return;
    if (reply === 'disconnect') socket.destroy();
    else socket.write(operation === opQuery ? queryReply(message, reply) : messageReply(message, reply));
  }

  private replyTo(command: ReceivedCommand): Document | 'hang' | 'disconnect' {
    const name = command.name.toLowerCase();
    if (name === 'hello' || name === 'ismaster')
      return {
        ...hello,
        ...(this.identity['setName'] === undefined ? {} : { me: this.host, hosts: [this.host] }),
        ...this.identity,
      };
    if (name === 'endsessions') return { ok: 1 };
    this.received.push(command);
    return this.script(command);
  }
}

function messageCommand(message: Buffer): ReceivedCommand {
  let body: Document = {};
  const sequences = new Map<string, Buffer[]>();
  for (let at = 20; at < message.length;) {
    const kind = message[at];
    const size = message.readInt32LE(at + 1);
    const section = message.subarray(at + 1, at + 1 + size);
    if (kind === 0)
      body = BSON.deserialize(section, { promoteLongs: false, promoteValues: false, promoteBuffers: false });
    else sequences.set(...sequenceOf(section));
    at += 1 + size;
  }
  return { name: Object.keys(body)[0] ?? '', body, sequences };
}

function sequenceOf(section: Buffer): [string, Buffer[]] {
  const nameEnd = section.indexOf(0, 4);
  const documents: Buffer[] = [];
  for (let at = nameEnd + 1; at < section.length; at += section.readInt32LE(at)) {
    documents.push(section.subarray(at, at + section.readInt32LE(at)));
  }
  return [section.toString('utf8', 4, nameEnd), documents];
}

function queryCommand(message: Buffer): ReceivedCommand {
  const start = message.indexOf(0, 20) + 1 + 8;
  const body = BSON.deserialize(message.subarray(start, start + message.readInt32LE(start)));
  return { name: Object.keys(body)[0] ?? '', body, sequences: new Map() };
}

function header(size: number, request: Buffer, operation: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32LE(16 + size, 0);
  bytes.writeInt32LE(request.readInt32LE(4), 8);
  bytes.writeInt32LE(operation, 12);
  return bytes;
}

function messageReply(request: Buffer, reply: Document): Buffer {
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), BSON.serialize(reply)]);
  return Buffer.concat([header(body.length, request, opMsg), body]);
}

function queryReply(request: Buffer, reply: Document): Buffer {
  const body = Buffer.concat([Buffer.alloc(20), BSON.serialize(reply)]);
  body.writeInt32LE(1, 16);
  return Buffer.concat([header(body.length, request, opReply), body]);
}

/** A successful reply with an operation time. */
export function success(fields: Document = {}): Document {
  return { ...fields, ok: 1, operationTime: new Timestamp({ t: 100, i: 1 }) };
}

/** A failed reply. */
export function failure(code: number, codeName: string, fields: Document = {}): Document {
  return { ok: 0, code, codeName, errmsg: 'text that must not be matched', ...fields };
}

/** A reply of a cursor command. */
export function batch(
  id: bigint,
  documents: Document[],
  fields: Document = {},
  name: 'firstBatch' | 'nextBatch' = 'firstBatch',
): Document {
  return success({ cursor: { id: Long.fromBigInt(id), ns: 'db.coll', [name]: documents, ...fields } });
}
