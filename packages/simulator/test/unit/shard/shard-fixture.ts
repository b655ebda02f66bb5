import { Binary, Long, type Timestamp } from 'bson';
import { decodeDocument } from '../../../src/bson/decode.js';
import { toExtendedJson } from '../../extended-json.js';
import { DateTime, RawDocument, type Doc, type Value } from '../../../src/bson/value.js';
import { ClusterClock } from '../../../src/node/clock.js';
import type { CommandRequest } from '../../../src/node/command.js';
import { internalRequest } from '../../../src/node/internal-request.js';
import { ShardNode } from '../../../src/shard/shard-node.js';
import type { ShardNodeOptions } from '../../../src/shard/shard-state.js';
import { value } from '../json.js';

/** A shard under test whose wall clock stands still until it is moved. */
export class ShardFixture implements Disposable {
  nowMs = 1_700_000_000_000;
  readonly clock = new ClusterClock(() => this.nowMs);
  readonly shard: ShardNode;

  constructor(options: Partial<ShardNodeOptions> = {}) {
    this.shard = new ShardNode({
      name: 'shard0',
      clock: this.clock,
      setName: 's0',
      host: '127.0.0.1',
      port: 1,
      noopIntervalMs: 0,
      now: () => this.nowMs,
      ...options,
    });
  }

  /** Runs a command given as plain or extended JSON; values of the model may stand in it as they are. */
  run(db: string, command: Record<string, unknown>, parts: Partial<CommandRequest> = {}): Promise<Doc> {
    return this.shard.run(internalRequest(db, toDoc(command), parts));
  }

  /** Runs a command and gives its reply as JSON, documents of batches included. */
  async json(db: string, command: Record<string, unknown>): Promise<Record<string, unknown>> {
    return plain(await this.run(db, command));
  }

  /** The documents of a find's first batch as JSON. */
  async found(db: string, command: Record<string, unknown>): Promise<unknown[]> {
    const { cursor } = (await this.json(db, command)) as { cursor: { firstBatch: unknown[] } };
    return cursor.firstBatch;
  }

  now(): Timestamp {
    return this.shard.access.lastAppliedTime();
  }

  [Symbol.dispose](): void {
    this.shard.close();
  }
}

/** A session id as commands carry it. */
export function lsid(letter: string): Doc {
  return new Map([['id', new Binary(Buffer.alloc(16, letter), Binary.SUBTYPE_UUID)]]);
}

export function long(number: number | bigint): Long {
  return typeof number === 'bigint' ? Long.fromBigInt(number) : Long.fromNumber(number);
}

/** A reply as relaxed JSON: ints as numbers, everything else in extended form. */
export function plain(doc: Doc): Record<string, unknown> {
  return relaxed(toExtendedJson(unpacked(doc))) as Record<string, unknown>;
}

/** What a rejected command says. */
export async function failureOf(run: Promise<unknown>): Promise<{ code: number; message: string }> {
  try {
    await run;
  } catch (error) {
    const { code, message } = error as { code: number; message: string };
    return { code, message };
  }
  throw new Error('the command did not fail');
}

function toDoc(json: Record<string, unknown>): Doc {
  return new Map(Object.entries(json).map(([name, inner]) => [name, toValue(inner)]));
}

function toValue(json: unknown): Value {
  if (
    json instanceof Map ||
    json instanceof DateTime ||
    (typeof json === 'object' && json !== null && '_bsontype' in json)
  )
    return json as Value;
  if (Array.isArray(json)) return json.map(toValue);
  if (
    typeof json === 'object' &&
    json !== null &&
    !Object.keys(json).some((name) => /^\$(number|oid|minKey|maxKey)/.test(name))
  ) {
    return toDoc(json as Record<string, unknown>);
  }
  return value(json);
}

function unpacked(given: Value): Value {
  if (given instanceof RawDocument) return decodeDocument(given.bytes);
  if (Array.isArray(given)) return given.map(unpacked);
  if (given instanceof Map) return new Map([...given].map(([name, inner]) => [name, unpacked(inner)]));
  return given;
}

function relaxed(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(relaxed);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json);
  if (entries.length === 1 && entries[0]?.[0] === '$numberInt') return Number(entries[0][1]);
  return Object.fromEntries(entries.map(([name, inner]) => [name, relaxed(inner)]));
}
