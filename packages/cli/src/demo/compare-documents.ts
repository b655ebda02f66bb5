import { BSON } from 'mongodb';

/** What two collections have in common and where they differ. */
export interface DocumentsOutcome {
  /** Documents of the source. */
  documents: number;
  /** Bytes of the source's documents. */
  bytes: number;
  differences: string[];
}

/** Documents that one side has shown and the other not yet; more than this many are reported as they are. */
const unmatchedMax = 10_000;
const differencesMax = 20;

/**
 * Walks two streams of documents that come in the same order. Equal pairs are passed over by comparing bytes;
 * where they differ, documents are paired by `_id`, so that a missing one does not make all later ones different.
 */
export async function compareDocuments(source: AsyncIterable<Uint8Array>, destination: AsyncIterable<Uint8Array>): Promise<DocumentsOutcome> {
  const outcome: DocumentsOutcome = { documents: 0, bytes: 0, differences: [] };
  const unmatched = new Unmatched(outcome.differences);
  const left = source[Symbol.asyncIterator]();
  const right = destination[Symbol.asyncIterator]();
  for (;;) {
    const [a, b] = await Promise.all([left.next(), right.next()]);
    if (a.done && b.done) break;
    if (!a.done) {
      outcome.documents += 1;
      outcome.bytes += a.value.length;
    }
    if (!a.done && !b.done && Buffer.compare(a.value, b.value) === 0) continue;
    if (!a.done) unmatched.add('source', a.value);
    if (!b.done) unmatched.add('destination', b.value);
    if (outcome.differences.length >= differencesMax || unmatched.size > unmatchedMax) break;
  }
  await Promise.all([left.return?.(), right.return?.()]);
  unmatched.report();
  return outcome;
}

type Side = 'source' | 'destination';

/** Documents whose counterpart has not been seen, by `_id`. The same `_id` may occur on several shards. */
class Unmatched {
  private readonly waiting = { source: new Map<string, Uint8Array[]>(), destination: new Map<string, Uint8Array[]>() };
  size = 0;

  constructor(private readonly differences: string[]) {}

  add(side: Side, document: Uint8Array): void {
    const other = this.waiting[side === 'source' ? 'destination' : 'source'];
    const id = idOf(document);
    const candidates = other.get(id);
    if (candidates === undefined) {
      this.waiting[side].set(id, [...(this.waiting[side].get(id) ?? []), document]);
      this.size += 1;
      return;
    }
    const equal = candidates.findIndex((candidate) => Buffer.compare(candidate, document) === 0);
    if (equal < 0) this.differences.push(`document ${id} differs`);
    candidates.splice(Math.max(equal, 0), 1);
    this.size -= 1;
    if (candidates.length === 0) other.delete(id);
  }

  report(): void {
    for (const id of this.waiting.source.keys()) this.differences.push(`document ${id} is missing on the destination`);
    for (const id of this.waiting.destination.keys()) this.differences.push(`document ${id} is only on the destination`);
    this.differences.splice(differencesMax);
  }
}

/** The `_id` with its type, as canonical extended JSON. */
function idOf(document: Uint8Array): string {
  const { _id: id } = BSON.deserialize(document, { promoteValues: false }) as { _id: unknown };
  return BSON.EJSON.stringify(id, { relaxed: false });
}
