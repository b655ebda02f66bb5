import { createRequire } from 'node:module';
import type { NetConnectOpts, Socket } from 'node:net';
import { Binary, BSON, type Document } from 'mongodb';

/** The driver internals that Convoy uses. */
interface DriverInternals {
  /** What has arrived of a connection, and the whole messages in it. */
  BufferPool: { new (): BufferPool; prototype: BufferPool };
  /** Opens a connection; calls `createConnection` before it first waits. */
  connect: { connect: (options: { proxyHost?: string }) => Promise<unknown> };
  /** A reply; connections and sessions keep its cluster time. */
  MongoDBResponse: { new (message: Uint8Array): Response; prototype: Response };
}

interface Response {
  readonly $clusterTime: KeptTime | null;
}

/** What is kept of a reply when everything else of it is over. */
interface KeptTime {
  signature?: { hash?: unknown } | undefined;
}

interface BufferPool {
  readonly length: number;
  /** The parts that have arrived, and their bytes. */
  readonly buffers: { first(): Uint8Array | null; shift(): Uint8Array | null };
  totalByteLength: number;
  append(buffer: Uint8Array): void;
  read: (this: BufferPool, size: number) => Uint8Array;
}

/** Node.js's module `net`. */
interface Net {
  createConnection: (options: NetConnectOpts & { onread: Reading }) => Socket;
}

/** How a socket gives what it reads. */
interface Reading {
  /** Where the next bytes go. */
  buffer: () => Uint8Array;
  /** @returns false to stop reading until the socket is asked for more */
  callback: (bytes: number, buffer: Uint8Array) => boolean;
}

/** A message begins with its size, which counts itself and the rest of the header. */
const size_bytes = 4;
const headerBytes = 16;
/** Servers send no message above 48,000,000 bytes. */
const messageBytesMax = 48 * 2 ** 20;

/** The memory of messages that have arrived in buffers of their own. */
const ownMemory = new WeakSet<object>();

/**
 * Frees the memory of a large reply at once; only garbage collections would do so otherwise. They collect the whole
 * heap for the buffers that have outlived two of the young generation: half of the CPU of a copy.
 * @param documents of one reply: nobody reads them any more, nor any other view of it
 */
export function freeReply(documents: readonly Uint8Array[]): void {
  const memory = documents[0]?.buffer;
  if (memory instanceof ArrayBuffer && ownMemory.delete(memory)) memory.transfer(0);
}

/** A document with copies of its binary values, which decoding leaves as views of the reply. */
export function withoutReply(document: Document): Document {
  return BSON.deserialize(BSON.serialize(document), { promoteLongs: false });
}

/** Copies the signature of a time that is kept, in its place: it would keep the whole reply. */
export function keepTime({ signature }: KeptTime): void {
  const hash = signature?.hash;
  if (signature === undefined || !(hash instanceof Binary)) return;
  if (hash.buffer.length < hash.buffer.buffer.byteLength)
    signature.hash = new Binary(Uint8Array.from(hash.buffer), hash.sub_type);
}

/** Where all sockets receive what begins no large message: it is copied at once. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);
const none = Buffer.alloc(0);

/**
 * Receives the messages of one socket: each that does not arrive at once goes into a buffer of its own size. By default
 * a message of 1 MB arrives as 16 buffers or more, which pass two streams each, and are copied into another one. These
 * are twice as many bytes outside of the heap, for which V8 collects garbage twice as often.
 */
export class MessageReceiver {
  /** A message that has begun, and how much of it is there. */
  #message: Buffer | null = null;
  #filled = 0;
  /** The beginning of a message whose size is not known yet. */
  #head = none;
  /** Bytes that are no message went through: the driver finds out what they are. */
  #isBroken = false;

  /** @param push takes whole messages, at least one; returns false when no more should be read */
  constructor(private readonly push: (messages: Buffer) => boolean) {}

  /** Where the next bytes go. */
  buffer(): Uint8Array {
    return this.#message === null ? shared : this.#message.subarray(this.#filled);
  }

  /**
   * Takes the bytes that were written to `buffer`.
   * @returns false when no more should be read
   */
  received(bytes: number): boolean {
    const arrived = shared.subarray(0, bytes);
    if (this.#message === null)
      return this.#sort(this.#head.length === 0 ? arrived : Buffer.concat([this.#head, arrived]));
    this.#filled += bytes;
    if (this.#filled < this.#message.length) return true;
    const whole = this.#message;
    this.#message = null;
    return this.push(whole);
  }

  /** Hands on the whole messages, and keeps the beginning of the last one; both as copies. */
  #sort(arrived: Buffer): boolean {
    let end = 0;
    this.#head = none;
    while (!this.#isBroken && arrived.length - end >= size_bytes) {
      const size = arrived.readInt32LE(end);
      this.#isBroken = size < headerBytes || size > messageBytesMax;
      if (this.#isBroken || arrived.length - end < size) break;
      end += size;
    }
    if (this.#isBroken) return this.push(Buffer.from(arrived));
    const rest = arrived.subarray(end);
    if (rest.length < size_bytes) this.#head = Buffer.from(rest);
    else {
      this.#message = Buffer.allocUnsafeSlow(rest.readInt32LE(0));
      ownMemory.add(this.#message.buffer);
      this.#filled = rest.copy(this.#message);
    }
    return end === 0 || this.push(Buffer.from(arrived.subarray(0, end)));
  }
}

/** The driver copies every message; one that arrived alone in its buffer needs no copy. */
function readWithoutCopy({ prototype }: DriverInternals['BufferPool']): void {
  const { read } = prototype;
  prototype.read = function (size) {
    const first = this.buffers.first();
    if (size === 0 || first?.byteLength !== size) return read.call(this, size);
    this.buffers.shift();
    this.totalByteLength -= size;
    return first;
  };
}

/** Whether a pool still gives the messages that were put into it. */
function readsAsExpected({ BufferPool }: DriverInternals): boolean {
  const pool = new BufferPool();
  const [alone, divided] = [Buffer.from([1, 2]), Buffer.from([3, 4, 5, 6])];
  for (const part of [alone, divided.subarray(0, 3), divided.subarray(3)]) pool.append(part);
  const [first, second] = [pool.read(2), pool.read(4)];
  return first === alone && Buffer.from(second).equals(divided) && pool.length === 0;
}

/** The driver keeps the cluster time of every reply, with a view of the reply in its signature. */
function keepTimesAlone({ prototype }: DriverInternals['MongoDBResponse']): void {
  const { get } = Object.getOwnPropertyDescriptor(prototype, '$clusterTime') as { get: () => KeptTime | null };
  Object.defineProperty(prototype, '$clusterTime', {
    configurable: true,
    get(this: Response) {
      const time = get.call(this);
      if (time !== null) keepTime(time);
      return time;
    },
  });
}

/** Whether a reply still gives its cluster time, and that alone. */
function keepsAsExpected({ MongoDBResponse }: DriverInternals): boolean {
  const hash = Buffer.alloc(20, 7);
  const message = BSON.serialize({
    ok: 1,
    $clusterTime: { clusterTime: new BSON.Timestamp({ t: 1, i: 1 }), signature: { hash } },
  });
  const found = new MongoDBResponse(message).$clusterTime?.signature?.hash;
  return found instanceof Binary && hash.equals(found.buffer) && found.buffer.buffer !== message.buffer;
}

/** Makes the driver's sockets receive by a `MessageReceiver`; those with TLS or a proxy read as before. */
function receiveWhole(connecting: DriverInternals['connect'], net: Net): void {
  const { connect } = connecting;
  connecting.connect = (options) => {
    // A proxy first says other things than messages.
    if (options.proxyHost !== undefined) return connect(options);
    const { createConnection } = net;
    net.createConnection = (socketOptions) => {
      const receiver = new MessageReceiver((messages) => socket.push(messages));
      const onread: Reading = { buffer: () => receiver.buffer(), callback: (bytes) => receiver.received(bytes) };
      const socket: Socket = createConnection({ ...socketOptions, onread });
      return socket;
    };
    try {
      return connect(options);
    } finally {
      net.createConnection = createConnection;
    }
  };
}

/** @returns false if a driver upgrade has moved or changed the internals; it then receives in its own way */
function install(): boolean {
  try {
    const require = createRequire(import.meta.url);
    const internals = {
      ...(require('mongodb/lib/utils') as Pick<DriverInternals, 'BufferPool'>),
      connect: require('mongodb/lib/cmap/connect') as DriverInternals['connect'],
      ...(require('mongodb/lib/cmap/wire_protocol/responses') as Pick<DriverInternals, 'MongoDBResponse'>),
    };
    const { read } = internals.BufferPool.prototype;
    readWithoutCopy(internals.BufferPool);
    keepTimesAlone(internals.MongoDBResponse);
    if (readsAsExpected(internals) && keepsAsExpected(internals)) {
      receiveWhole(internals.connect, require('node:net') as Net);
      return true;
    }
    internals.BufferPool.prototype.read = read;
    return false;
  } catch {
    return false;
  }
}

/** True if the driver receives a message in one buffer. */
export const receivesWholeMessages = install();
