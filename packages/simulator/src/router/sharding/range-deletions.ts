import { Binary, Int32 } from 'bson';
import { makeUuid } from '../../bson/uuid.js';
import { compareValues } from '../../bson/compare.js';
import { encodeDocument } from '../../bson/encode.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { internalRequest } from '../../node/internal-request.js';
import { inRange } from './chunk-lookup.js';

/** How often a waiting cleanup checks whether it may continue. */
const heldUpMs = 50;
/** How long a migration waits for ranges that it brings back (server: `receiveChunkWaitForRangeDeleterTimeoutMS`). */
const returnWaitMs = 10_000;

interface PendingRange {
  readonly id: Binary;
  readonly shard: ClusterShard;
  readonly collection: ShardedCollection;
  readonly min: KeyValues;
  readonly max: KeyValues;
  /** Cursors opened on the shard so far may still need the documents. */
  readonly cursorMark: number;
  timer: NodeJS.Timeout | undefined;
  readonly done: Promise<void>;
  readonly finish: () => void;
}

/** The ranges that chunk migrations left on their donors, until they are cleaned up. */
export class RangeDeletions {
  readonly #pending = new Set<PendingRange>();

  /** Schedules the cleanup of a range on the shard that gave it away. @returns resolves when the range is clean */
  async schedule(
    shard: ClusterShard,
    collection: ShardedCollection,
    min: KeyValues,
    max: KeyValues,
    delayMs: number,
  ): Promise<{ done: Promise<void> }> {
    let finish = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const id = makeUuid();
    const range: PendingRange = {
      id,
      shard,
      collection,
      min,
      max,
      cursorMark: shard.stored.cursorMark(),
      timer: undefined,
      done,
      finish,
    };
    this.#pending.add(range);
    await this.#record(range, delayMs);
    this.#plan(range, delayMs);
    return { done };
  }

  /** Resolves when no range of a collection waits on a shard. */
  async wait(shard: ClusterShard, namespace: string): Promise<void> {
    await Promise.all(this.#of(shard, namespace).map((range) => range.done));
  }

  /**
   * Cleans up a range before chunks come back to the shard.
   * @throws CommandError 120 when the cleanup is suspended, or cursors need the documents for too long
   */
  async cleanNow(shard: ClusterShard, namespace: string, min: KeyValues, max: KeyValues): Promise<void> {
    const overlapping = this.#of(shard, namespace).filter(
      (range) => compareKeys(range.min, max) < 0 && compareKeys(min, range.max) < 0,
    );
    for (const range of overlapping) {
      clearTimeout(range.timer);
      this.#plan(range, 0);
    }
    if (overlapping.length === 0) return;
    let limit: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      limit = setTimeout(() => resolve('late'), returnWaitMs);
    });
    const first = await Promise.race([Promise.all(overlapping.map((range) => range.done)), late]);
    clearTimeout(limit);
    if (first === 'late')
      throw new CommandError(96, 'OperationFailed', 'Data transfer error: Failed to delete orphaned ranges: timed out');
  }

  close(): void {
    for (const range of this.#pending) clearTimeout(range.timer);
    this.#pending.clear();
  }

  #of(shard: ClusterShard, namespace: string): PendingRange[] {
    return [...this.#pending].filter((range) => range.shard === shard && presentName(range) === namespace);
  }

  #plan(range: PendingRange, delayMs: number): void {
    range.timer = setTimeout(() => {
      if (isHeldUp(range)) this.#plan(range, heldUpMs);
      else void this.#clean(range);
    }, delayMs);
    range.timer.unref();
  }

  async #clean(range: PendingRange): Promise<void> {
    if (!this.#pending.delete(range)) return;
    const { shard, collection, min, max } = range;
    const namespace = presentName(range);
    if (namespace !== undefined) shard.stored.removeMigrated(namespace, inRange(collection, min, max));
    shard.noteCleaned(collection);
    const statement = encodeDocument(doc(['q', doc(['_id', range.id])], ['limit', new Int32(1)]));
    await shard.node
      .run(
        internalRequest('config', doc(['delete', 'rangeDeletions']), {
          sequences: new Map([['deletes', [statement]]]),
        }),
      )
      .catch(() => undefined);
    range.finish();
  }

  async #record(range: PendingRange, delayMs: number): Promise<void> {
    const { collection, shard } = range;
    const document = doc(
      ['_id', range.id],
      ['nss', collection.namespace],
      ['collectionUuid', collection.uuid],
      ['donorShardId', shard.id],
      [
        'range',
        doc(['min', collection.key.boundDocument(range.min)], ['max', collection.key.boundDocument(range.max)]),
      ],
      ['whenToClean', delayMs > 0 ? 'delayed' : 'now'],
    );
    const sequences = new Map([['documents', [encodeDocument(document)]]]);
    await shard.node.run(internalRequest('config', doc(['insert', 'rangeDeletions']), { sequences }));
  }
}

/** A cleanup waits while it is suspended, while its shard is down, and for cursors that were opened before the move. */
function isHeldUp(range: PendingRange): boolean {
  const { shard, cursorMark } = range;
  const namespace = presentName(range);
  return (
    shard.suspended() ||
    !shard.node.up ||
    (namespace !== undefined && shard.stored.hasCursorsBefore(namespace, cursorMark))
  );
}

/** The current name of a range's collection. Undefined when it was dropped. */
function presentName({ shard, collection }: PendingRange): string | undefined {
  const all = shard.stored.collectionsOf(databaseOf(collection.namespace));
  return all.find(({ uuid }) => compareValues(uuid, collection.uuid) === 0)?.namespace;
}
