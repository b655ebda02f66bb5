import { BSON } from 'mongodb';

/** Result of comparing two collections. */
export interface DocumentsOutcome {
  /** Documents of the source. */
  documents: number;
  /** Bytes of the source's documents. */
  bytes: number;
  differences: string[];
}

/** Maximum unmatched documents; beyond that, reading on gives no insight. */
const unmatchedMax = 10_000;
/** Maximum described differences. */
const differencesMax = 20;

/**
 * Compares two streams of documents in the same order. Equal bytes match; differing documents are paired by `_id`, so
 * that a missing one does not make all later ones differ.
 * @param orderCounts whether a different order is a difference
 */
export async function compareDocuments(
  source: AsyncIterable<Uint8Array>,
  destination: AsyncIterable<Uint8Array>,
  orderCounts = false,
): Promise<DocumentsOutcome> {
  const outcome: DocumentsOutcome = { documents: 0, bytes: 0, differences: [] };
  const unmatched = new Unmatched();
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
    if (unmatched.size > unmatchedMax) break;
  }
  await Promise.all([left.return?.(), right.return?.()]);
  outcome.differences = unmatched.differences().slice(0, differencesMax);
  if (orderCounts && unmatched.wasUsed && outcome.differences.length === 0)
    outcome.differences.push('the documents are in a different order');
  return outcome;
}

type Side = 'source' | 'destination';

/** Unmatched documents by `_id`. The same `_id` may occur on several shards. */
class Unmatched {
  private readonly waiting = { source: new Map<string, Uint8Array[]>(), destination: new Map<string, Uint8Array[]>() };
  size = 0;
  /** True once a pair differed at its position. */
  wasUsed = false;

  add(side: Side, document: Uint8Array): void {
    this.wasUsed = true;
    const id = idOf(document);
    const candidates = this.waiting[side === 'source' ? 'destination' : 'source'].get(id) ?? [];
    const equal = candidates.findIndex((candidate) => Buffer.compare(candidate, document) === 0);
    if (equal >= 0) {
      candidates.splice(equal, 1);
      this.size -= 1;
    } else {
      this.waiting[side].set(id, [...(this.waiting[side].get(id) ?? []), document]);
      this.size += 1;
    }
  }

  /** The remaining documents after both streams ended: different or on one side only. */
  differences(): string[] {
    const differences: string[] = [];
    const { source, destination } = this.waiting;
    for (const id of new Set([...source.keys(), ...destination.keys()])) {
      const left = source.get(id) ?? [];
      const right = destination.get(id) ?? [];
      for (let index = 0; index < Math.max(left.length, right.length); index += 1)
        differences.push(`document ${id} ${describe(left[index], right[index])}`);
    }
    return differences;
  }
}

function describe(source: Uint8Array | undefined, destination: Uint8Array | undefined): string {
  if (destination === undefined) return 'is missing on the destination';
  if (source === undefined) return 'is only on the destination';
  const left = fieldsOf(source);
  const right = fieldsOf(destination);
  const names = [...new Set([...left.keys(), ...right.keys()])].filter((name) => left.get(name) !== right.get(name));
  return `differs in ${names.join(', ') || 'the order of its fields'}`;
}

/** Every field as canonical extended JSON, which shows types. */
function fieldsOf(document: Uint8Array): Map<string, string> {
  const fields = BSON.deserialize(document, { promoteValues: false }) as Record<string, unknown>;
  return new Map(
    Object.entries(fields).map(([name, value]) => [name, BSON.EJSON.stringify(value, { relaxed: false })]),
  );
}

/** The `_id` with its type, as canonical extended JSON. */
function idOf(document: Uint8Array): string {
  const { _id: id } = BSON.deserialize(document, { promoteValues: false }) as { _id: unknown };
  return BSON.EJSON.stringify(id, { relaxed: false });
}
