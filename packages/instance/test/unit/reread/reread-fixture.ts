import { BSON, type Document } from 'mongodb';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { NodeClient, RawBatch, RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import type { GivenUpRange, RereadDependencies } from '../../../src/reread/reread-batch.js';
import { Rereader } from '../../../src/reread/rereader.js';
import { ApplyWatermark } from '../../../src/store/task-record.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import type { RoutedStream } from '../../../src/store/change-event.js';
import { batchOf } from '../model/calls.js';
import { collectionOf, never, once, rawOf, settled } from '../model/parts.js';
import { randomOf, Scheduler } from '../model/scheduler.js';
import { clientWith } from '../model/client-with.js';

/** The operation time of every read from the source. */
export const readEnd = 40n;

/** A rereader over documents in memory, which records its reads and writes. */
export class RereadFixture {
  collection = collectionOf();
  source: Uint8Array[] = [];
  destination: Uint8Array[] = [];
  /** The documents on all shards of the source. */
  everywhere: Uint8Array[] = [];
  readonly reads: Document[] = [];
  readonly writes: { kind: string; statements: Document[] }[] = [];
  /** The answers of the destination, write by write; success by default. */
  answers: Partial<WriteOutcome>[] = [];
  readonly watermarks: bigint[] = [];
  readonly released: { buffered: number; size: number }[] = [];
  readonly rereads = new RereadSet(
    { upsert: () => Promise.resolve(), remove: () => Promise.resolve() },
    new ByteBudget(1000),
  );
  readonly scheduler = new Scheduler(randomOf(1));
  readonly stop = new AbortController();
  /** Resolves `untilRouted`; null when that resolves at once. */
  routed: (() => void) | null = null;
  givenUp: () => GivenUpRange | null = () => null;
  failRead: Error | null = null;
  duringRead: () => void = () => undefined;
  mayRead = true;
  untilNamed: RoutedStream['untilNamed'] = () => Promise.resolve();
  retrying: RereadDependencies['retrying'] = once;

  /** Starts a re-read of the documents and runs everything that waits for nothing. */
  async reread(...ids: unknown[]): Promise<{ rereader: Rereader; run: Promise<unknown> }> {
    const { collection, scheduler, rereads } = this;
    await rereads.add(ids.map((id) => ({ collection, id: rawOf(id), reason: 'duplicateKey' as const, time: 25n })));
    const deps: RereadDependencies = {
      shard: this.#clientOf(() => this.source, {
        atClusterTime: timestampOf(25n),
        operationTime: timestampOf(readEnd),
      }),
      destination: this.#clientOf(() => this.destination, {}),
      source: this.#clientOf(() => this.everywhere, {}),
      writer: { write: (one: RawWrite) => this.#write(one) },
      rereads,
      applyWatermark: new ApplyWatermark(
        0n,
        (time) => Promise.resolve(void this.watermarks.push(time)),
        () => 0n,
      ),
      retrying: this.retrying,
      clock: scheduler,
      stream: {
        position: 20n,
        untilNamed: (...named) => this.untilNamed(...named),
        untilRouted: () =>
          this.routed === null ? Promise.resolve() : new Promise((resolve) => (this.routed = resolve)),
        releaseReread: (entry) => void this.released.push({ buffered: entry.buffered.length, size: rereads.size }),
      },
      relief: { next: () => Promise.resolve(this.givenUp()) },
      mayRead: () => this.mayRead,
    };
    const rereader = new Rereader(deps);
    const run = rereader.run(this.stop.signal, never).catch((error: unknown) => error);
    await settled();
    return { rereader, run };
  }

  filtersOf(kind: string): Document[] {
    return this.writes
      .filter((one) => one.kind === kind)
      .flatMap(({ statements }) => statements.map(({ q }) => q as Document));
  }

  #clientOf(documents: () => Uint8Array[], about: Partial<RawBatch>): NodeClient {
    const openCursor = (_database: string, command: Document) => {
      this.reads.push(command);
      this.duringRead();
      if (this.failRead !== null) return Promise.reject(this.failRead);
      return Promise.resolve({
        first: batchOf([...documents()], about),
        open: false,
        next: () => Promise.reject(new Error('no more')),
        close: () => Promise.resolve(),
      });
    };
    return clientWith({ label: 'client', openCursor });
  }

  #write({ kind, statements }: RawWrite): Promise<WriteOutcome> {
    this.writes.push({
      kind,
      statements: statements.map((statement) => BSON.deserialize(statement, { promoteValues: false })),
    });
    return Promise.resolve({ n: statements.length, nModified: 0, upserted: 0, failures: [], ...this.answers.shift() });
  }
}
