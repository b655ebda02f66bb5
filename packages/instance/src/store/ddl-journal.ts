import type { Binary, Document, Timestamp } from 'mongodb';
import { type Metadata, refusingStale, WriteOrder, type Written } from './metadata.js';
import type { MigrationRecords } from './migration-record.js';

/**
 * `restart`: the collection keeps its source UUID, and Convoy drops, creates and copies it again; under another name if
 * a rename takes it into another database of the destination.
 */
export type DdlOperation = 'create' | 'drop' | 'rename' | 'restart';

/** One DDL change, as the leader found it. */
export interface DdlEntry {
  /** Dense, from 1: the order of the changes. */
  ordinal: number;
  operation: DdlOperation;
  /** UUID of the source collection, 32 hexadecimal digits. */
  uuid: string;
  /** The namespace before the change; for a create, the new one. */
  database: string;
  name: string;
  /** The namespace after a rename. */
  to: { database: string; name: string } | null;
  /** A followed collection under the target name of a rename or create; the change drops it. */
  droppedUuid: string | null;
  /** The last shard's time of the change. Later reads of the collection are above it. */
  time: Timestamp;
  state: 'undone' | 'done';
  /**
   * Once done: the stored entry of the created, restarted or renamed collection; null when the change had no effect.
   */
  entry: Binary | null;
}

export type NewDdlEntry = Omit<DdlEntry, 'ordinal' | 'state' | 'entry'>;

/** Digits of an ordinal in an `_id`: strings then sort as numbers do. */
const ordinalDigits = 12;

/**
 * The durable list of DDL changes. Entries count up to the migration record's `ddlChanges.known`, their results up to
 * `ddlChanges.done`. Both advance only under the present leader's epoch. Each ordinal has one document: a leader
 * overwrites uncounted entries of earlier leaders, and can overwrite nothing of a later one.
 */
export class DdlJournal {
  constructor(
    private readonly metadata: Metadata,
    private readonly records: MigrationRecords,
  ) {}

  /** The entries after `ordinal` up to `known`, in order. */
  async readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<DdlEntry[]> {
    if (known <= ordinal) return [];
    const stored = await this.metadata.find('ddlChanges', { _id: { $gt: placeOf(ordinal) } }, signal);
    return stored.map(entryOf).filter((ddlChange) => ddlChange.ordinal <= known);
  }

  /** First step of a new leader: afterwards no earlier leader can finish an entry. */
  async claim(leaderEpoch: number, signal: AbortSignal): Promise<void> {
    await this.metadata.updateMany(
      'ddlChanges',
      { state: 'undone', epoch: { $lte: leaderEpoch } },
      { $set: { epoch: leaderEpoch } },
      signal,
    );
  }

  /**
   * Adds the next entry and raises `known` to it.
   * @throws ConvoyError `staleEpoch` when another leader has taken over; the entry does not count then
   */
  async append(leaderEpoch: number, ordinal: number, found: NewDdlEntry, signal: AbortSignal): Promise<DdlEntry> {
    const ddlChange: DdlEntry = { ...found, ordinal, state: 'undone', entry: null };
    const _id = placeOf(ordinal);
    // A router may apply a copy of this write late, after the entry is done.
    const place = { _id, epoch: { $lte: leaderEpoch }, $nor: [{ epoch: leaderEpoch, state: 'done' }] };
    await refusingStale(() =>
      this.metadata.upsertEach('ddlChanges', [{ q: place, u: { ...ddlChange, _id, epoch: leaderEpoch } }], signal),
    );
    await this.records.raiseDdlChanges(leaderEpoch, { known: ordinal }, signal);
    return ddlChange;
  }

  /**
   * Records the result of an entry. Entries are finished in order; finishing one again changes nothing.
   * @throws ConvoyError `staleEpoch`
   */
  async finish(leaderEpoch: number, ordinal: number, entry: Binary | null, signal: AbortSignal): Promise<void> {
    const undone = { _id: placeOf(ordinal), epoch: leaderEpoch, state: 'undone' };
    await this.metadata.updateOne('ddlChanges', undone, { $set: { state: 'done', entry } }, signal);
    await this.records.raiseDdlChanges(leaderEpoch, { done: ordinal }, signal);
  }
}

function placeOf(ordinal: number): string {
  return String(ordinal).padStart(ordinalDigits, '0');
}

function entryOf({ _id, epoch: _epoch, ...stored }: Document): DdlEntry {
  return { ...stored, ordinal: Number(_id) } as DdlEntry;
}

/** UUIDs of one collection on both clusters, each 32 hexadecimal digits. */
export interface UuidPair {
  sourceUuid: string;
  destinationUuid: string;
}

/**
 * Maps source collections to destination collections. DDL changes use these UUIDs, because a name may meanwhile belong
 * to a new collection.
 */
export class UuidPairs {
  readonly #destinationUuids: Map<string, string>;
  readonly #recorded: Set<string>;
  readonly #order: WriteOrder;

  private constructor(
    private readonly metadata: Pick<Metadata, 'upsertEach'>,
    private readonly leaderEpoch: number,
    stored: readonly Document[],
  ) {
    this.#destinationUuids = new Map(stored.map((pair) => [String(pair._id), String(pair.destinationUuid)]));
    const own = stored.flatMap(({ written }) => (written as Written | undefined) ?? []);
    const numbers = own.filter(({ epoch }) => epoch === leaderEpoch).map(({ number }) => number);
    this.#order = new WriteOrder(leaderEpoch, Math.max(0, ...numbers));
    this.#recorded = new Set(this.#destinationUuids.values());
  }

  static async read(
    metadata: Pick<Metadata, 'find' | 'upsertEach'>,
    leaderEpoch: number,
    signal: AbortSignal,
  ): Promise<UuidPairs> {
    return new UuidPairs(metadata, leaderEpoch, await metadata.find('uuids', {}, signal));
  }

  /** UUID on the destination; null when none is recorded. */
  destinationOf(sourceUuid: string): string | null {
    return this.#destinationUuids.get(sourceUuid) ?? null;
  }

  /** Whether a source collection is now mapped to this destination collection. */
  isMapped(destinationUuid: string): boolean {
    return [...this.#destinationUuids.values()].includes(destinationUuid);
  }

  /** Whether a source collection is or was mapped to this destination collection. */
  isRecorded(destinationUuid: string): boolean {
    return this.#recorded.has(destinationUuid);
  }

  /** @throws ConvoyError `staleEpoch` when a later leader has recorded one of them */
  async record(pairs: readonly UuidPair[], signal: AbortSignal): Promise<void> {
    const written = this.#order.next();
    const statements = pairs.map(({ sourceUuid, destinationUuid }) => {
      const q = { _id: sourceUuid, epoch: { $lte: this.leaderEpoch }, ...this.#order.upToNow() };
      return { q, u: { _id: sourceUuid, epoch: this.leaderEpoch, destinationUuid, written } };
    });
    await refusingStale(() => this.metadata.upsertEach('uuids', statements, signal));
    for (const { sourceUuid, destinationUuid } of pairs) {
      this.#destinationUuids.set(sourceUuid, destinationUuid);
      this.#recorded.add(destinationUuid);
    }
  }
}
