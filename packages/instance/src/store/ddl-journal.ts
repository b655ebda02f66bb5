import type { Binary, Document, Timestamp } from 'mongodb';
import type { Metadata } from './metadata.js';
import type { MigrationRecords } from './migration-record.js';
import { refusingStale } from './refusing-stale.js';

/** What a definition change does to a collection. `restart`: dropped, made anew and copied anew under the same source UUID. */
export type DdlOperation = 'create' | 'drop' | 'rename' | 'restart';

/** One change of what collections there are, as the leader has found it. */
export interface DdlChange {
  /** Dense, from 1 on: the order in which changes are applied. */
  ordinal: number;
  operation: DdlOperation;
  /** UUID of the source collection, 32 hexadecimal digits. */
  uuid: string;
  /** Its namespace before the change; of a creation, the one it is made under. */
  database: string;
  name: string;
  /** Of renames, the namespace after it. */
  to: { database: string; name: string } | null;
  /** A followed collection that stood under the target of a rename, or the name of a creation; it is dropped by the change. */
  droppedUuid: string | null;
  /** Of the last shard's copy: what is read of the collection afterwards is read above it. */
  time: Timestamp;
  state: 'undone' | 'done';
  /** Once done, the stored entry of the created, restarted or renamed collection; null when nothing came of it. */
  entry: Binary | null;
}

/** What is known of a change when it is found. */
export type FoundDdlChange = Omit<DdlChange, 'ordinal' | 'state' | 'entry'>;

/** Digits of an ordinal in an `_id`, so that the order of texts is that of numbers. */
const ordinalDigits = 12;

/**
 * The durable list of definition changes. Entries count up to the migration record's `definitions.known`, their results
 * up to `definitions.done`; both move only under the present leader's epoch. There is one place for each ordinal: what
 * an earlier leader has left there without counting it is overwritten, and it can overwrite nothing of a later one.
 */
export class DdlJournal {
  constructor(
    private readonly metadata: Metadata,
    private readonly records: MigrationRecords,
  ) {}

  /** The counting entries after an ordinal, in order. */
  async readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<DdlChange[]> {
    if (known <= ordinal) return [];
    const stored = await this.metadata.find('ddlChanges', { _id: { $gt: placeOf(ordinal) } }, signal);
    return stored.map(ddlChangeOf).filter((ddlChange) => ddlChange.ordinal <= known);
  }

  /** A new leader's first step: from here on no earlier leader can say what came of an entry. */
  async claim(leaderEpoch: number, signal: AbortSignal): Promise<void> {
    await this.metadata.updateMany(
      'ddlChanges',
      { state: 'undone', epoch: { $lte: leaderEpoch } },
      { $set: { epoch: leaderEpoch } },
      signal,
    );
  }

  /**
   * Adds the next entry and lets it count.
   * @throws ConvoyError `staleEpoch` when another leader has taken over: then nothing of it counts
   */
  async append(leaderEpoch: number, ordinal: number, found: FoundDdlChange, signal: AbortSignal): Promise<DdlChange> {
    const ddlChange: DdlChange = { ...found, ordinal, state: 'undone', entry: null };
    const place = { _id: placeOf(ordinal), epoch: { $lte: leaderEpoch } };
    await refusingStale(() =>
      this.metadata.upsertEach(
        'ddlChanges',
        [{ q: place, u: { ...ddlChange, _id: place._id, epoch: leaderEpoch } }],
        signal,
      ),
    );
    await this.records.raiseDdlChanges(leaderEpoch, { known: ordinal }, signal);
    return ddlChange;
  }

  /**
   * Says what came of an entry. Entries are finished in order; finishing one again changes nothing.
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

function ddlChangeOf({ _id, epoch: _epoch, ...stored }: Document): DdlChange {
  return { ...stored, ordinal: Number(_id) } as DdlChange;
}
