import { BSON, Binary, type Document } from 'mongodb';
import type { Metadata } from './metadata.js';

/** How far an item is. */
export type CarryState = 'planned' | 'carried' | 'failed';

/** An item that a commit takes along, as the journal has it. */
export interface JournalledItem {
  readonly _id: string;
  readonly kind: string;
  readonly name: string;
  readonly state: CarryState;
  /** What makes it; null for users, whose credentials stay out of the journal. */
  readonly content: Document | null;
  /** Why it failed. */
  readonly failure: string | null;
}

/** An item before it is in the journal. */
export type NewItem = Pick<JournalledItem, 'kind' | 'name' | 'content'>;

const digits = 6;

/**
 * The items that a commit takes along, each with its state. A journal belongs to one leader: the migration's record
 * names its epoch once it is complete, and entries of others do not count.
 */
export class CarryJournal {
  constructor(private readonly metadata: Metadata) {}

  /** Writes the journal of a leader, in the order in which it makes the items. */
  async write(epoch: number, items: readonly NewItem[], signal: AbortSignal): Promise<JournalledItem[]> {
    const entries = items.map(({ kind, name, content }, position): JournalledItem => ({
      _id: `${epoch}/${String(position).padStart(digits, '0')}`,
      kind,
      name,
      state: 'planned',
      content,
      failure: null,
    }));
    const documents = entries.map((entry) => ({ ...entry, epoch, content: packed(entry.content) }));
    if (documents.length > 0) await this.metadata.upsertMany('carried', documents, signal);
    return entries;
  }

  /** The entries of a leader's journal, in their order. */
  async read(epoch: number, signal: AbortSignal): Promise<JournalledItem[]> {
    const documents = await this.metadata.find('carried', { epoch }, signal);
    return documents.map((document) => ({ ...(document as JournalledItem), content: unpacked(document.content) }));
  }

  /** Records the outcome of an item. */
  async settle(id: string, state: CarryState, failure: string | null, signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne('carried', { _id: id }, { $set: { state, failure } }, signal);
  }
}

/** As bytes: servers before 5.0 store no names that begin with a dollar sign. */
function packed(content: Document | null): Binary | null {
  return content === null ? null : new Binary(BSON.serialize(content));
}

function unpacked(content: unknown): Document | null {
  return content instanceof Binary
    ? BSON.deserialize(content.buffer.subarray(0, content.position), { promoteBuffers: true })
    : null;
}
