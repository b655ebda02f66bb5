import { Binary, BSON, type Document, type Timestamp } from 'mongodb';
import { restoredTime, storedTime } from '../cluster/cluster-time.js';

/** A position of a scan in record order, as the server gives it. Only the member that gave it understands it. */
export type RecordToken = Document;

/**
 * Positions kept, the newest last: a record that is deleted is no position any more, so the scan continues at an
 * earlier one and writes what follows again.
 */
const tokensMax = 16;

interface Copied {
  readonly documents: number;
  readonly bytes: number;
}

/**
 * How far the copy of a partition in record order is. It reads pieces, each at its own time. Every document that
 * changes after the first of these times is re-read once the partition is done: all others have the same record and the
 * same content at all these times, so that the piece that holds their record has them exactly.
 */
export class RecordScan {
  #from: bigint | null = null;
  #term: string | null = null;
  #tokens: RecordToken[] = [];
  /** A piece is being written: the destination may have documents beyond the newest token. */
  #writing = false;
  #replaces = false;
  #losses = 0;
  #copied: Copied = { documents: 0, bytes: 0 };

  /** The scan as stored. */
  static restored(stored: Document): RecordScan {
    const scan = new RecordScan();
    scan.#from = restoredTime(stored.from as Timestamp | null);
    scan.#term = stored.term as string | null;
    scan.#tokens = (stored.tokens as Binary[]).map((token) => BSON.deserialize(token.value(), { promoteLongs: false }));
    scan.#replaces = Boolean(stored.replaces) || Boolean(stored.writing);
    scan.#losses = Number(stored.losses);
    scan.#copied = { documents: Number(stored.documents), bytes: Number(stored.bytes) };
    return scan;
  }

  /** The time of the first piece; null before it. */
  get from(): bigint | null {
    return this.#from;
  }

  /** Documents before the newest token. */
  get copied(): Copied {
    return this.#copied;
  }

  /** The destination may have documents beyond the newest token already: how many is not known. */
  get replaces(): boolean {
    return this.#replaces;
  }

  /** How often the scan had to begin again. */
  get losses(): number {
    return this.#losses;
  }

  /** Starts a piece at a time. */
  startPiece(readTime: bigint): void {
    this.#from ??= readTime;
  }

  /**
   * Where a piece may begin that is read from the primary of this term, the best place first; empty for the first
   * record. Record numbers differ between members, and on one member after a rollback or a restart, both of which begin
   * a new term.
   */
  placesIn(term: string): readonly RecordToken[] {
    if (this.#term !== term && this.#tokens.length > 0) this.beginAgain();
    this.#term = term;
    return [...this.#tokens].reverse();
  }

  /** No token is a place to begin at any more. */
  beginAgain(): void {
    this.#tokens = [];
    this.#copied = { documents: 0, bytes: 0 };
    this.#losses += 1;
    this.#replaces = true;
  }

  /** The piece begins before the newest token. */
  beginEarlier(): void {
    this.#replaces = true;
  }

  /** The documents of a piece are written from now on. */
  startWriting(): void {
    this.#writing = true;
  }

  /** Ends a piece without result, some of whose documents may be written. */
  abandonPiece(): void {
    if (this.#writing) this.#replaces = true;
    this.#writing = false;
  }

  /** Ends a piece, whose documents are all acknowledged. @param tokens its positions, in order */
  endPiece(tokens: readonly RecordToken[], copied: Copied): void {
    this.#tokens = [...this.#tokens, ...tokens].slice(-tokensMax);
    this.#copied = copied;
    this.#writing = false;
  }

  /** The durable form. */
  stored(): Document {
    return {
      from: storedTime(this.#from),
      term: this.#term,
      tokens: this.#tokens.map((token) => new Binary(BSON.serialize(token))),
      writing: this.#writing,
      replaces: this.#replaces,
      losses: this.#losses,
      ...this.#copied,
    };
  }
}
