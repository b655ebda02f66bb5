import { Binary, BSON, type Document, Long, Timestamp } from 'mongodb';
import type { Probe } from './probe.js';
import type { Reached } from './reach.js';
import type { Asked } from './server.js';

/** Of larger values only the size is recorded. */
const lineCharactersMax = 200_000;
/** Longer texts of probes repeat one character, and are recorded that way. */
const textCharactersMax = 10_000;
/** Names and addresses as the corpus has them. */
const scratchName = 'convoy_probe';
const addresses: Readonly<Record<string, string>> = {
  router: '127.0.0.1:28000',
  shard0: '127.0.0.1:28010',
  shard1: '127.0.0.1:28011',
  replicaset: '127.0.0.1:41500',
};
const otherAddress = '127.0.0.1:28001';
const password = 'PASSWORD';

/** Fields of replies that reveal the login, the machine or the keys of a cluster. */
const leftOut: ReadonlySet<string> = new Set([
  'authenticatedUsers',
  'authenticatedUserRoles',
  'tags',
  'client',
  'clientMetadata',
  'host',
]);
const zeroSignature = { hash: new Binary(Buffer.alloc(20)), keyId: Long.ZERO };

/**
 * Records the commands and replies of probes as lines in the form of the corpus. Values of one run (cursors, times,
 * sessions) are replaced by the step that returned them, addresses and names of shards by their parts. Passwords are
 * left out. All documents are the probes' own.
 */
export class Recording {
  readonly #lines: string[] = [];
  readonly #references = new Map<string, Document>();
  readonly #sessions = new Map<string, string>();
  readonly #texts: (readonly [RegExp, string])[];

  constructor(private readonly reached: Pick<Reached, 'hosts' | 'shardIds' | 'topology' | 'version' | 'hasUsers'>) {
    const parts = [...reached.hosts].map(
      ([host, part]) => [host, addresses[this.#part(part)] ?? otherAddress] as const,
    );
    const ids = reached.shardIds.map((id, index) => [`"${id}"`, `"shard${index}"`] as const);
    this.#texts = [...parts, ...ids].map(([from, to]) => [new RegExp(escaped(from), 'g'), to]);
    const { topology, version, hasUsers } = reached;
    const about =
      `What convoy probe asked a ${topology === 'sharded' ? 'sharded cluster' : 'replica set'} of ` +
      `${version.join('.')}${hasUsers ? ' with access control' : ''}.`;
    this.#lines.push(JSON.stringify({ scenario: 'probes', about }));
  }

  /** Records which probe starts. */
  readonly begin = ({ name, sentence }: Probe): void => {
    this.#lines.push(JSON.stringify({ step: this.#lines.length, note: `${name}: ${sentence}` }));
  };

  /** Records a command with its reply, in which numbers keep their types. */
  readonly add = ({ on, db, command }: Asked, reply: Document): void => {
    const step = this.#lines.length;
    const outcome = Number(reply.ok) === 1 ? { reply: masked(reply) } : { error: masked(asError(reply)) };
    const line = this.#text(step, { on: this.#part(on), db, command: this.#relative(command), ...outcome });
    const [name = ''] = Object.keys(command);
    this.#lines.push(
      line.length > lineCharactersMax
        ? JSON.stringify({ step, note: `${name} with ${line.length} characters, left out` })
        : line,
    );
    this.#learn(step, reply);
  };

  /** All lines. */
  text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #part(name: string): string {
    if (this.reached.topology === 'replicaSet') return 'replicaset';
    const index = this.reached.shardIds.indexOf(name);
    return index < 0 ? name : `shard${index}`;
  }

  #text(step: number, line: Document): string {
    const rest = BSON.EJSON.stringify(line, { relaxed: false }).slice(1);
    let text = `{"step":${step},${rest}`.replaceAll(/convoy_probe_[0-9a-f]{12}/g, scratchName);
    for (const [from, to] of this.#texts) text = text.replaceAll(from, to);
    return text;
  }

  /** Remembers the values of a reply for later commands. */
  #learn(step: number, reply: Document): void {
    const cursor = reply.cursor as
      { id?: number | Long; atClusterTime?: Timestamp; postBatchResumeToken?: { _data: string } } | undefined;
    // The first step counts: the write that has this time, not a later reply that repeats it.
    const learn = (value: unknown, name: string): void => {
      if (value !== undefined && !this.#references.has(keyOf(value)))
        this.#references.set(keyOf(value), { [name]: step });
    };
    const operationTime = reply.operationTime as Timestamp | undefined;
    learn(operationTime, 'operationTimeOfStep');
    learn(operationTime && new Timestamp({ t: operationTime.t, i: operationTime.i + 1 }), 'timeAfterStep');
    learn(cursor?.postBatchResumeToken && timeOfToken(cursor.postBatchResumeToken._data), 'timeOfTokenOfStep');
    learn((reply.$clusterTime as { clusterTime?: unknown } | undefined)?.clusterTime, 'now');
    learn(cursor?.id === undefined ? undefined : Long.fromString(String(cursor.id)), 'cursorOfStep');
  }

  /** A command in which values of this run are replaced by references to the steps that returned them. */
  #relative(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#relative(each));
    if (typeof value === 'string' && value.length > textCharactersMax)
      return { repeated: { text: value.charAt(0), times: value.length } };
    if (typeof value !== 'object' || value === null) return value;
    const isNumber = value instanceof Long && !value.isZero();
    if (value instanceof Timestamp || isNumber) return this.#references.get(keyOf(value)) ?? value;
    if (value instanceof Binary) return this.#ownSession(value) ?? value;
    if ('_bsontype' in value || value instanceof Date || value instanceof RegExp) return value;
    const fields = Object.entries(value);
    const [[name, inner] = ['', null]] = fields;
    if (fields.length === 1 && name === 'id' && inner instanceof Binary) return { session: this.#letter(inner) };
    return Object.fromEntries(
      fields.map(([field, each]) => [field, field === 'pwd' ? password : this.#relative(each)]),
    );
  }

  /** The id that a session has when the recording is replayed. */
  #ownSession(id: Binary): Binary | undefined {
    const letter = this.#sessions.get(id.toString('hex'));
    return letter === undefined ? undefined : new Binary(Buffer.alloc(16, letter), Binary.SUBTYPE_UUID);
  }

  #letter(id: Binary): string {
    const key = id.toString('hex');
    const letter = this.#sessions.get(key) ?? String.fromCharCode('A'.charCodeAt(0) + this.#sessions.size);
    this.#sessions.set(key, letter);
    return letter;
  }
}

/** A refusal in the form of the corpus: the common fields come first. */
function asError({
  ok,
  code = null,
  codeName = null,
  errmsg = null,
  errorLabels = [],
  ...rest
}: Record<string, unknown>): Document {
  return { ok, code, codeName, errmsg, errorLabels, ...rest };
}

function keyOf(value: unknown): string {
  return value instanceof Timestamp ? `time ${value.toBigInt()}` : `long ${String(value)}`;
}

function timeOfToken(token: string): Timestamp {
  return new Timestamp({ t: parseInt(token.slice(2, 10), 16), i: parseInt(token.slice(10, 18), 16) });
}

/** A reply without what reveals the user's cluster. */
function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (
    typeof value !== 'object' ||
    value === null ||
    '_bsontype' in value ||
    value instanceof Date ||
    value instanceof RegExp
  )
    return value;
  const fields = Object.entries(value).filter(([field]) => !leftOut.has(field));
  return Object.fromEntries(
    fields.map(([field, inner]) => [field, field === 'signature' ? zeroSignature : masked(inner)]),
  );
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
