import { randomBytes } from 'node:crypto';
import { Long, type Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { refuseForeignSession } from '../../shard/cursor/cursor-session.js';
import { SessionIdentity } from '../../shard/session/session-identity.js';
import { doc, requiredText, numberOf } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** Bound of the open cursors of one router. Beyond it the oldest idle one is closed. */
const cursorsMax = 50_000;

/** The result of one find, aggregate or getMore. */
export interface RouterBatch {
  readonly documents: Value[];
  /** True when nothing can follow. */
  readonly exhausted: boolean;
  /** Position of a change stream after this batch. */
  readonly postBatchResumeToken?: Doc | undefined;
  /** Time of a snapshot read. */
  readonly time?: Timestamp | undefined;
}

/** A result that is fetched batch by batch. */
export interface RouterCursor {
  readonly namespace: string;
  /** The getMore waits for more. Only then it may carry a time limit. */
  readonly awaitsData?: true | undefined;
  /** @param batchSize undefined for as many as fit */
  next(batchSize: number | undefined, request: CommandRequest): Promise<RouterBatch>;
  close(request: CommandRequest): Promise<void>;
}

/** The open cursors of a router. */
export class RouterCursors {
  readonly #open = new Map<string, KeptCursor>();
  /** Idle cursors are closed after this many milliseconds (`cursorTimeoutMillis`). */
  idleMsMax = 600_000;

  constructor(private readonly version: ServerVersion) {}

  /** The reply to the command that created the cursor. Registers the cursor when it can return more. */
  async first(cursor: RouterCursor, batch: RouterBatch, single: boolean, request: CommandRequest): Promise<Doc> {
    let id = Long.ZERO;
    if (single) await cursor.close(request);
    else if (!batch.exhausted) id = this.#keep(cursor, request);
    const fields = doc(['firstBatch', batch.documents]);
    if (batch.postBatchResumeToken !== undefined) fields.set('postBatchResumeToken', batch.postBatchResumeToken);
    fields.set('id', id).set('ns', cursor.namespace);
    if (batch.time !== undefined) fields.set('atClusterTime', batch.time);
    return doc(['cursor', fields]);
  }

  /** @throws CommandError 43 when there is no such cursor */
  async more(id: Long, batchSize: number | undefined, request: CommandRequest): Promise<Doc> {
    this.#giveUpIdle();
    const entry = this.#open.get(id.toString());
    if (entry === undefined) {
      const namespace = `${request.db}.${requiredText(request.body, 'collection')}`;
      throw new CommandError(
        43,
        'CursorNotFound',
        this.version.atLeast(8, 0)
          ? `Cursor not found (id: ${id.toString()}).`
          : `Cursor not found (namespace: '${namespace}', id: ${id.toString()}).`,
      );
    }
    refuseForeignSession(id.toString(), entry.session, sessionOf(request));
    if (entry.busy) throw new CommandError(143, 'CursorInUse', `cursor id ${id.toString()} is already in use`);
    if (request.body.has('maxTimeMS') && entry.cursor.awaitsData !== true) {
      throw new CommandError(2, 'BadValue', 'maxTimeMS can only be used with getMore for tailable, awaitData cursors');
    }
    entry.busy = true;
    try {
      const batch = await entry.cursor.next(batchSize, request);
      if (batch.exhausted) this.#open.delete(id.toString());
      const fields = doc(
        ['id', batch.exhausted ? Long.ZERO : id],
        ['ns', entry.cursor.namespace],
        ['nextBatch', batch.documents],
      );
      if (batch.postBatchResumeToken !== undefined) fields.set('postBatchResumeToken', batch.postBatchResumeToken);
      if (batch.time !== undefined) fields.set('atClusterTime', batch.time);
      return doc(['cursor', fields]);
    } catch (error) {
      this.#open.delete(id.toString());
      throw error;
    } finally {
      entry.busy = false;
      entry.usedMs = Date.now();
    }
  }

  /** Closes a cursor. False when none has this id. */
  async kill(id: Long, request: CommandRequest): Promise<boolean> {
    const entry = this.#open.get(id.toString());
    if (entry === undefined) return false;
    this.#open.delete(id.toString());
    await entry.cursor.close(request);
    return true;
  }

  /**
   * Drops all cursors, as the end of the router's process does. Those of the shards stay until they have been idle for
   * too long.
   */
  forget(): void {
    this.#open.clear();
  }

  #keep(cursor: RouterCursor, request: CommandRequest): Long {
    this.#giveUpIdle();
    const id = Long.fromBigInt(randomBytes(8).readBigUInt64LE() >> 1n);
    this.#open.set(id.toString(), {
      cursor,
      usedMs: Date.now(),
      busy: false,
      session: sessionOf(request),
    });
    return id;
  }

  #giveUpIdle(): void {
    const oldestMs = Date.now() - this.idleMsMax;
    for (const [id, entry] of this.#open) {
      if (entry.busy) continue;
      if (entry.usedMs <= oldestMs || this.#open.size >= cursorsMax) this.#open.delete(id);
    }
  }

  /** Closes the cursors of sessions. */
  async killBySession(sessions: ReadonlySet<string>, request: CommandRequest): Promise<void> {
    for (const [id, { session }] of this.#open)
      if (session !== undefined && sessions.has(session)) await this.kill(Long.fromString(id), request);
  }
}

interface KeptCursor {
  readonly cursor: RouterCursor;
  readonly session: string | undefined;
  usedMs: number;
  busy: boolean;
}

function sessionOf({ body }: CommandRequest): string | undefined {
  return SessionIdentity.read(body.get('lsid'))?.toString();
}

/** `getMore` of a cursor this router opened. */
export function getMoreCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const id = request.body.get('getMore');
  if (!(id instanceof Long))
    throw new CommandError(14, 'TypeMismatch', `BSON field 'getMore.getMore' is the wrong type`);
  const batchSize = numberOf(request.body.get('batchSize'));
  return context.cursors.more(id, batchSize === 0 ? undefined : batchSize, request);
}

/** `killCursors`. */
export async function killCursorsCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const asked = request.body.get('cursors');
  const killed: Long[] = [];
  const notFound: Long[] = [];
  for (const id of Array.isArray(asked) ? asked : []) {
    if (id instanceof Long) ((await context.cursors.kill(id, request)) ? killed : notFound).push(id);
  }
  return doc(['cursorsKilled', killed], ['cursorsNotFound', notFound], ['cursorsAlive', []], ['cursorsUnknown', []]);
}
