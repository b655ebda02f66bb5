import { randomBytes } from 'node:crypto';
import { Binary, Int32, Long, Timestamp } from 'bson';
import type { Doc, Value } from '../../src/bson/value.js';
import type { HostRoles } from '../conformance/host-roles.js';
import { type Played, resolveCommand } from '../conformance/resolve-command.js';
import type { WireClient } from '../conformance/wire-client.js';
import type { Command, Numbered } from './case.js';

/** A cluster with a connection to each of its nodes. */
export interface Nodes {
  readonly clients: Readonly<Record<Command['on'], Pick<WireClient, 'run'>>>;
  readonly roles: HostRoles;
  /** A connection of a user, who is logged in on first use. */
  as?(who: string, on: Command['on']): Promise<Pick<WireClient, 'run'>>;
  close(): Promise<void>;
}

/** How long one look at a stream waits for events. */
const lookMs = 200;
/** How long a stream may take to show what was written. */
const streamWithinMs = 20_000;

/** One of the two clusters that are compared, in the middle of a case. */
export class Side {
  readonly #replies = new Map<number, Doc>();
  #clusterTime = new Timestamp({ t: 0, i: 0 });

  /** @param sessions ids by the letters that commands name them by */
  constructor(
    readonly nodes: Nodes,
    private readonly sessions = new Map<string, Binary>(),
  ) {}

  /** Sends a command of a case with its references resolved; gives the reply, failed or not. */
  async send(numbered: Numbered): Promise<Doc> {
    const command = resolveCommand(numbered.command, this.#played());
    const client = await this.#client(numbered);
    const reply =
      numbered.until === undefined
        ? await client.run(numbered.db, command)
        : await this.#follow(numbered, command, numbered.until);
    this.#replies.set(numbered.step, reply);
    this.#noteTime(reply);
    return reply;
  }

  /** Reads a stream up to the event of a document; gives one reply with all events up to it. */
  async #follow(numbered: Numbered, command: Doc, until: number): Promise<Doc> {
    const client = await this.#client(numbered);
    const events: Value[] = [];
    const deadlineMs = Date.now() + streamWithinMs;
    for (;;) {
      const reply = await client.run(numbered.db, new Map(command).set('maxTimeMS', new Int32(lookMs)));
      const cursor = reply.get('cursor') as Doc | undefined;
      const batch = cursor?.get('nextBatch');
      if (!Array.isArray(batch)) return reply;
      events.push(...batch);
      cursor?.set('nextBatch', events);
      if (batch.some((event) => isAbout(event, until)) || Date.now() > deadlineMs || isClosed(cursor)) return reply;
    }
  }

  #client({ who, on }: Command): Promise<Pick<WireClient, 'run'>> {
    const { clients } = this.nodes;
    return who === undefined
      ? Promise.resolve(clients[on])
      : (this.nodes.as?.(who, on) ?? Promise.reject(new Error('There are no users.')));
  }

  #played(): Played {
    return { replies: this.#replies, sessions: this.sessions, uuids: new Map(), clusterTime: this.#clusterTime };
  }

  #noteTime(reply: Doc): void {
    const time = (reply.get('$clusterTime') as Doc | undefined)?.get('clusterTime') as Timestamp | undefined;
    if (time?.greaterThan(this.#clusterTime) === true) this.#clusterTime = time;
  }
}

function isAbout(event: Value, id: number): boolean {
  const key = event instanceof Map ? event.get('documentKey') : undefined;
  const found = key instanceof Map ? key.get('_id') : undefined;
  return found instanceof Int32 && found.value === id;
}

function isClosed(cursor: Doc | undefined): boolean {
  const id = cursor?.get('id');
  return id instanceof Long && id.isZero();
}

/**
 * Session ids by the letters that commands name them by. No other case has the same ones, so that their numbers begin
 * anew.
 */
export class OwnSessions extends Map<string, Binary> {
  override get(letter: string): Binary {
    const known = super.get(letter) ?? new Binary(randomBytes(16), Binary.SUBTYPE_UUID);
    this.set(letter, known);
    return known;
  }
}
