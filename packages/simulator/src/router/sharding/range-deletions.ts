import { Binary, Int32, UUID } from 'bson';
import { compareValues } from '../../bson/compare.js';
import { encodeDocument } from '../../bson/encode.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { doc } from '../../node/doc-fields.js';
import { internalRequest } from '../../node/internal-request.js';

/** How often a suspended clean-up looks whether it may go on. */
const suspendedMs = 50;
/** Fail point of the server that keeps orphans where they are. */
const suspendingFailPoint = 'suspendRangeDeletion';

interface PendingRange {
  readonly id: Binary;
  readonly shard: ClusterShard;
  readonly collection: ShardedCollection;
  readonly min: KeyValues;
  readonly max: KeyValues;
  timer: NodeJS.Timeout | undefined;
  readonly done: Promise<void>;
  readonly finish: () => void;
}

/** The ranges that chunk migrations left behind on their donors, until they are cleaned up. */
export class RangeDeletions {
  readonly #pending = new Set<PendingRange>();

  /**
   * Schedules the clean-up of a range on the shard that gave it away.
   * @returns resolves when the range is clean
   */
  async schedule(shard: ClusterShard, collection: ShardedCollection, min: KeyValues, max: KeyValues, delayMs: number): Promise<{ done: Promise<void> }> {
    let finish = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const range: PendingRange = { id: new Binary(new UUID().buffer, Binary.SUBTYPE_UUID), shard, collection, min, max, timer: undefined, done, finish };
    shard.orphanRanges.set(collection.namespace, (shard.orphanRanges.get(collection.namespace) ?? 0) + 1);
    this.#pending.add(range);
    await this.#record(range, delayMs);
    this.#plan(range, delayMs);
    return { done };
  }

  /** Resolves when no range of a collection waits on a shard. */
  async wait(shard: ClusterShard, namespace: string): Promise<void> {
    await Promise.all(this.#of(shard, namespace).map((range) => range.done));
  }

  /** Cleans up at once, before chunks come back to the shard. */
  async cleanNow(shard: ClusterShard, namespace: string): Promise<void> {
    for (const range of this.#of(shard, namespace)) await this.#clean(range);
  }

  close(): void {
    for (const range of this.#pending) clearTimeout(range.timer);
    this.#pending.clear();
  }

  #of(shard: ClusterShard, namespace: string): PendingRange[] {
    return [...this.#pending].filter((range) => range.shard === shard && range.collection.namespace === namespace);
  }

  #plan(range: PendingRange, delayMs: number): void {
    range.timer = setTimeout(() => {
      if (range.shard.access.failPointActive(suspendingFailPoint)) this.#plan(range, suspendedMs);
      else void this.#clean(range);
    }, delayMs);
    range.timer.unref();
  }

  async #clean(range: PendingRange): Promise<void> {
    if (!this.#pending.delete(range)) return;
    clearTimeout(range.timer);
    const { shard, collection, min, max } = range;
    const { namespace, key } = collection;
    const present = shard.access.collection(namespace);
    if (present !== undefined && compareValues(present.uuid, collection.uuid) === 0) {
      shard.access.removeMigrated(namespace, (document) => {
        const at = key.keyOf(document);
        return compareKeys(min, at) <= 0 && compareKeys(at, max) < 0;
      });
    }
    const left = (shard.orphanRanges.get(namespace) ?? 1) - 1;
    if (left > 0) shard.orphanRanges.set(namespace, left);
    else shard.orphanRanges.delete(namespace);
    const statement = encodeDocument(doc(['q', doc(['_id', range.id])], ['limit', new Int32(1)]));
    await shard.node.run(internalRequest('config', doc(['delete', 'rangeDeletions']), { sequences: new Map([['deletes', [statement]]]) }));
    range.finish();
  }

  async #record(range: PendingRange, delayMs: number): Promise<void> {
    const { collection, shard } = range;
    const document = doc(
      ['_id', range.id],
      ['nss', collection.namespace],
      ['collectionUuid', collection.uuid],
      ['donorShardId', shard.id],
      ['range', doc(['min', collection.key.boundDocument(range.min)], ['max', collection.key.boundDocument(range.max)])],
      ['whenToClean', delayMs > 0 ? 'delayed' : 'now'],
    );
    const sequences = new Map([['documents', [encodeDocument(document)]]]);
    await shard.node.run(internalRequest('config', doc(['insert', 'rangeDeletions']), { sequences }));
  }
}
