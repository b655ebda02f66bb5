import { randomUUID } from 'node:crypto';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Binary, type Document, type Timestamp } from 'mongodb';
import type { Metadata } from './metadata.js';

/** What is durable of one share: one source shard's part of the migration, and who works on it. */
export interface ShareRecord {
  _id: string;
  /** Minted by every new owner; writes under an earlier one are refused. */
  epoch: number;
  owner: { syncID: string; incarnation: string };
  started: boolean;
  paused: boolean;
  commitRequested: boolean;
  /** The stream is resumed here; everything below is durable on the destination. Null before the first one. */
  checkpoint: Timestamp | null;
  /** No event above this time was sent to the destination. */
  begun: Timestamp | null;
  /** Time of the latest change of migrated data that was routed when the checkpoint was stored. */
  lastWrite: Timestamp | null;
  copied: { bytes: number; documents: number };
  copyDone: boolean;
  eventsApplied: number;
  /** Set when everything up to the commit time of a round is durable; `eventsAbove` counts source writes seen after it. */
  drained: { round: number; eventsAbove: number } | null;
  /** Ids of the server sessions of this identity's writes. */
  sessions: Binary[];
}

/** Reads and writes of share records, conditional on the owner's epoch. */
export class ShareRecords {
  constructor(private readonly metadata: Metadata) {}

  async readAll(signal: AbortSignal): Promise<ShareRecord[]> {
    return (await this.metadata.find('shares', {}, signal)) as unknown as ShareRecord[];
  }

  /**
   * Takes a share over for this process: mints the next epoch and makes sure that its write sessions exist.
   * @param sessionsMax number of server sessions, one per write that may be in flight
   */
  async take(
    shareId: string,
    owner: ShareRecord['owner'],
    sessionsMax: number,
    signal: AbortSignal,
  ): Promise<ShareRecord> {
    const sessions = Array.from({ length: sessionsMax }, () => newSessionId());
    const initial: Document = {
      started: true,
      paused: false,
      commitRequested: false,
      checkpoint: null,
      begun: null,
      lastWrite: null,
      copied: { bytes: 0, documents: 0 },
      copyDone: false,
      eventsApplied: 0,
      drained: null,
      sessions,
    };
    const update = { $inc: { epoch: 1 }, $set: { owner }, $setOnInsert: initial };
    const stored = await this.metadata.findAndUpdate('shares', { _id: shareId }, update, signal, { upsert: true });
    if (stored === null) throw new ConvoyError('internalError', `The record of share ${shareId} could not be written.`);
    return stored as unknown as ShareRecord;
  }

  /** @throws ConvoyError `staleEpoch` when another process has taken the share over */
  async update(shareId: string, epoch: number, set: Partial<ShareRecord>, signal: AbortSignal): Promise<void> {
    const written = await this.metadata.updateOne('shares', { _id: shareId, epoch }, { $set: set }, signal);
    if (!written) throw new ConvoyError('staleEpoch', `Another process works on share ${shareId}.`);
  }
}

function newSessionId(): Binary {
  return new Binary(Buffer.from(randomUUID().replaceAll('-', ''), 'hex'), Binary.SUBTYPE_UUID);
}
