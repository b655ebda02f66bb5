import { Binary, Long } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { seriesOf, shownName } from '../cluster/time-series.js';
import type { FailureMeaning, Retrying } from '../async/retry.js';
import { Condition } from '../async/waiting.js';
import { upsertStatesKey } from '../bson/shard-key.js';
import { clusterFailures } from '../cluster/connection-failure.js';
import { statementBytesMax } from '../cluster/driver/write-command.js';
import {
  classify,
  duplicateKeyCode,
  hasNoTransaction,
  historyIncompleteCode,
  indexKeysCodes,
  kindOfCode,
  objectTooLargeCode,
  userWritesBlockedCode,
} from '../cluster/failure.js';
import { userWritesBlocked } from '../cluster/named-failure.js';
import type { NodeClient, RawWrite, WriteOutcome, WriteTicket } from '../cluster/node-client.js';
import type { SessionFence } from './fence.js';
import { MetadataWriteError } from './metadata.js';
import type { RereadReason } from './reread-set.js';
import type { SyncedCollection } from './synced-collection.js';

/** Resolves while this process owns the sync task; rejects with `staleEpoch` otherwise. May use a recent answer. */
export type ConfirmOwner = () => Promise<void>;

/** Writes documents to the destination, as `FencedWriter` does. */
export interface DocumentWriter {
  write(write: RawWrite, signal: AbortSignal): Promise<WriteOutcome>;
}

/** Fewer statements gain nothing. */
const togetherMin = 16;
/** One refused statement undoes all of a transaction. */
const apartAfterRefusal = 50;

interface Slot {
  readonly lsid: Uint8Array;
  next: bigint;
}

/**
 * Sends the data writes of one sync task, each in one of a fixed number of server sessions that belong to the task.
 * Each session has one write in flight. A write with an unknown outcome is sent again under the same number. A server
 * remembers a number only where the write changed a document. A router may still hold a copy of the write, and a shard
 * on which the answered one changed nothing would apply it later: over newer documents, or in another collection under
 * the same name. So a write that needed a repetition ends only when its session is fenced. After another owner has
 * fenced the sessions, the servers refuse all writes still in flight.
 */
export class FencedWriter implements DocumentWriter {
  readonly #idle: Slot[];
  readonly #freed = new Condition();
  /** Writes that follow apart. */
  #writesApart = 0;

  /**
   * @param sessions 16-byte ids of the sessions
   * @param epoch the task's epoch, below 2^31
   * @param confirm awaited before every write
   * @param fence refuses copies of repeated writes
   */
  constructor(
    private readonly client: Pick<NodeClient, 'write' | 'command'>,
    private readonly retrying: Retrying,
    sessions: readonly Uint8Array[],
    epoch: number,
    private readonly confirm: ConfirmOwner,
    private readonly fence: SessionFence,
    private readonly takesTransactions = false,
  ) {
    const first = BigInt(epoch) * numbersPerEpoch + 1n;
    this.#idle = sessions.map((lsid) => ({ lsid, next: first }));
  }

  /**
   * Writes at majority; waits for a free session first.
   * @returns the counts, and the failures of single statements that no repetition can mend
   * @throws ConvoyError `staleEpoch` when another owner has taken over, `retriesExhausted`
   */
  async write(write: RawWrite, signal: AbortSignal): Promise<WriteOutcome> {
    await this.#freed.until(() => this.#idle.length > 0, signal);
    const slot = this.#idle.pop();
    if (slot === undefined) return this.write(write, signal);
    try {
      return (await this.#writeTogether(slot, write, signal)) ?? (await this.#writeIn(slot, write, signal));
    } finally {
      this.#idle.push(slot);
      this.#freed.changed();
    }
  }

  /**
   * Writes in one transaction, which costs a server half as much.
   * @returns null where nothing of it was written: the caller writes in the ordinary way
   */
  async #writeTogether(slot: Slot, write: RawWrite, signal: AbortSignal): Promise<WriteOutcome | null> {
    if (!this.#mayWriteTogether(write)) return null;
    const ticket = { lsid: slot.lsid, txnNumber: slot.next, beginsTransaction: true } as const;
    slot.next += 1n;
    await this.confirm();
    const outcome = await this.client.write(write, ticket, { signal }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      if (classify(error) === 'staleEpoch') throw new ConvoyError('staleEpoch');
      return null;
    });
    // From here on an unknown outcome is asked for until it is known: what was committed must not be sent again.
    if (outcome?.failures.length === 0 && (await this.#committed(ticket, signal))) return outcome;
    this.#writesApart = apartAfterRefusal;
    return null;
  }

  async #committed({ lsid, txnNumber }: WriteTicket, signal: AbortSignal): Promise<boolean> {
    const commit = {
      // The driver would put its own number, a double, into a command that it takes for the end of a transaction.
      commitTransaction: 0,
      lsid: { id: new Binary(lsid, Binary.SUBTYPE_UUID) },
      txnNumber: Long.fromBigInt(txnNumber),
      autocommit: false,
      writeConcern: { w: 'majority' },
    };
    const send = async (): Promise<boolean> => {
      await this.confirm();
      try {
        await this.client.command('admin', commit, { signal });
        return true;
      } catch (error) {
        if (hasNoTransaction(error)) return false;
        throw classify(error) === 'staleEpoch' ? new ConvoyError('staleEpoch') : error;
      }
    };
    return this.retrying('commit documents', send, signal);
  }

  #mayWriteTogether({ kind, ordered, collection, statements }: RawWrite): boolean {
    if (!this.takesTransactions || kind === 'insert' || ordered || statements.length < togetherMin) return false;
    if (seriesOf(collection) !== null) return false;
    if (this.#writesApart === 0) return true;
    this.#writesApart -= 1;
    return false;
  }

  async #writeIn(slot: Slot, write: RawWrite, signal: AbortSignal): Promise<WriteOutcome> {
    const ticket = { lsid: slot.lsid, txnNumber: slot.next };
    slot.next += 1n;
    let sendings = 0;
    const send = async (): Promise<WriteOutcome> => {
      await this.confirm();
      sendings += 1;
      const outcome = await writeTicketed(this.client, write, ticket, signal);
      await this.#takeMixedTypes(write, outcome, signal);
      return outcome;
    };
    const answer = await this.retrying(`${write.kind} documents`, send, signal).then(
      (outcome) => ({ outcome }),
      (error: unknown) => {
        if (signal.aborted || error instanceof ConvoyError) throw error;
        return { error };
      },
    );
    if (sendings > ('error' in answer ? 0 : 1)) {
      // Taken first: a fence that fails on one shard may have used its number on the others.
      const above = slot.next;
      slot.next += 1n;
      await this.fence.raise(slot.lsid, above, signal);
    }
    if ('error' in answer) throw answer.error;
    return answer.outcome;
  }

  /**
   * Buckets that 5.0 and 5.1 have made may hold values of different types in one field, which later servers take only
   * where they are told so.
   * @throws RetryableStatement once the time series takes them
   */
  async #takeMixedTypes({ database, collection }: RawWrite, { failures }: WriteOutcome, signal: AbortSignal) {
    const series = seriesOf(collection);
    if (series === null || !failures.some(({ code }) => code === mixedSchemaCode)) return;
    const change = { collMod: series, timeseriesBucketsMayHaveMixedSchemaData: true, writeConcern: { w: 'majority' } };
    await this.client.command(database, change, { signal });
    throw new RetryableStatement(mixedSchemaCode);
  }
}

/** Transaction numbers of one epoch: the next epoch starts at `(epoch + 1) × 2^32`. */
export const numbersPerEpoch = 2n ** 32n;

/** A statement of a bulk failed; sending the bulk again under the same number mends it. */
export class RetryableStatement extends Error {
  constructor(readonly code: number) {
    super(`a statement failed with retryable code ${code}`);
    this.name = 'RetryableStatement';
  }
}

/**
 * Sends a write once, under its number in its session.
 * @returns the counts, and the failures of single statements that no repetition can mend
 * @throws ConvoyError `staleEpoch` when the session is fenced; RetryableStatement when the caller has to repeat the
 * write under the same number
 */
export async function writeTicketed(
  client: Pick<NodeClient, 'write'>,
  write: RawWrite,
  ticket: WriteTicket,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const outcome = await client.write(write, ticket, { signal }).catch((error: unknown) => {
    // A replica set refuses the whole command, a router the single statements.
    const kind = classify(error);
    if (kind === 'outcomeUnknown') return unknownOutcome(write);
    throw kind === 'staleEpoch' ? new ConvoyError('staleEpoch') : error;
  });
  refuseFailures(outcome);
  return outcome;
}

/** Reports the outcome of every statement as unknown. */
function unknownOutcome({ statements }: RawWrite): WriteOutcome {
  const failures = statements.map((_, index) => ({ index, code: historyIncompleteCode, message: '' }));
  return { n: 0, nModified: 0, upserted: 0, failures };
}

/** Throws for failures of single statements that concern the whole write. */
function refuseFailures({ failures }: WriteOutcome): void {
  for (const { code } of failures) {
    const kind = kindOfCode(code);
    if (kind === 'staleEpoch') throw new ConvoyError('staleEpoch');
    if (kind === 'retryable') throw new RetryableStatement(code);
  }
}

/** CannotInsertTimeseriesBucketsWithMixedSchema. */
const mixedSchemaCode = 408;

/** BSONObjectTooLarge, and the codes of updates that would grow a document beyond 16 MB. */
const tooLargeCodes = new Set([objectTooLargeCode, 17419, 17420]);

const immutableFieldCode = 66;

/**
 * Why a document must be re-read after its statement failed. Either the destination is not yet in the right state (a
 * document is in the way, or an index is ahead of the documents), or the outcome is unknown. Null when no re-read
 * helps.
 */
export function rereadOfRefusal(
  { capped, collated }: Pick<SyncedCollection, 'capped' | 'collated'>,
  code: number,
): RereadReason | null {
  if (code === duplicateKeyCode) return 'duplicateKey';
  // Under the collection's collation the filter matched a document with another `_id`, which no update can change.
  if (collated && code === immutableFieldCode) return 'duplicateKey';
  // No re-read restores the position of a document in a capped collection.
  if (capped) return null;
  if (code === historyIncompleteCode) return 'unknownOutcome';
  return indexKeysCodes.has(code) ? 'indexKeys' : null;
}

/**
 * Why a document must be re-read because no upsert can write it: the statement is too large, or its filter cannot name
 * the shard key of the document. Null when the statement can be sent.
 */
export function rereadOfUpsert(
  statement: Uint8Array,
  document: Uint8Array,
  { destinationKey }: Pick<SyncedCollection, 'destinationKey'>,
): RereadReason | null {
  if (statement.length > statementBytesMax) return 'largeStatement';
  return upsertStatesKey(document, destinationKey) ? null : 'undefinedShardKey';
}

/** The error for a statement that no repetition mends. It names namespace and code, never values. */
export function writeRefused({ destination }: Pick<SyncedCollection, 'destination'>, code: number): ConvoyError {
  const namespace = shownName(destination);
  if (tooLargeCodes.has(code))
    return new ConvoyError('documentTooLarge', `A document of ${namespace} is larger than the destination takes.`);
  if (code === userWritesBlockedCode) return userWritesBlocked(`the write to ${namespace}`);
  return new ConvoyError('writeRefused', `The destination refused a write to ${namespace} with code ${code}.`);
}

/** What failures of an operation of the engine mean. The reader of a lost cursor opens it again. */
export const engineFailures: FailureMeaning = { ...clusterFailures, isRetryable };

function isRetryable(error: unknown): boolean {
  if (error instanceof RetryableStatement) return true;
  if (error instanceof MetadataWriteError) return kindOfCode(error.code) === 'retryable';
  const kind = classify(error);
  return kind === 'retryable' || kind === 'cursorLost';
}
