import type { Document } from 'mongodb';

/** Which write of an owner a document is from; absent in documents of earlier releases. */
export interface Written {
  epoch: number;
  number: number;
}

/**
 * Orders the writes of one owner: a router may apply a copy of a write late, after later ones. Numbers of former owners
 * do not count.
 */
export class WriteOrder {
  /** @param latest number of the latest write that this owner has made before */
  constructor(
    private readonly epoch: number,
    private latest = 0,
  ) {}

  /** For the next write, stored as `written`. */
  next(): Written {
    this.latest += 1;
    return { epoch: this.epoch, number: this.latest };
  }

  /** The condition that this owner has written nothing later than the latest write so far. */
  upToNow(): Document {
    return { $nor: [{ 'written.epoch': this.epoch, 'written.number': { $gt: this.latest } }] };
  }
}
