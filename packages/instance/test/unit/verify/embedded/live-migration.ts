import type { Binary, Document } from 'mongodb';
import { decodeValue, encodeValue, type RawValue } from '../../../../src/bson/scan.js';
import { restoredValue } from '../../../../src/bson/sent-value.js';
import type { ClusterClient, NodeClient } from '../../../../src/cluster/node-client.js';
import { Metadata } from '../../../../src/store/metadata.js';
import { VerificationStorage } from '../../../../src/store/task-storage.js';
import { TaskVerifier, type VerifierStart } from '../../../../src/verify/embedded/task-verifier.js';
import type {
  CollectionToVerify,
  MigrationToVerify,
  VerifierDependencies,
} from '../../../../src/verify/embedded/verification-plan.js';
import { fakeCluster } from '../../fake-node-client.js';
import { MetadataModel } from '../../model/metadata-model.js';
import { LiveClient, LiveSide } from './live-side.js';
import { VirtualClock } from './virtual-clock.js';
import { namedOn } from './named-on.js';

export interface LiveMigrationOptions {
  /** From 0 to 1, the same for one seed. */
  random: () => number;
  documents: number;
  tasks: number;
  /** Parts of the collection. */
  parts: number;
  /** Parts compared at once. */
  comparers: number;
  /** Users write until a time, to `_id`s below `writtenBelow`; a tenth of the writes goes to three of them. */
  writesPerSecond: number;
  writesEnd_ms: number;
  writtenBelow: number;
  /**
   * Maximum delay of a write on the destination, in the order of the source; sometimes applying stalls for `stall_ms`.
   */
  lag_ms: number;
  stall_ms: number;
  batchMax: number;
  /** Maximum duration of a call. */
  callMax_ms: number;
  /** A commit waits for applying; by default never. */
  isDraining?: () => boolean;
}

/** A process of one sync task, until it is killed. */
interface Process {
  readonly verifier: TaskVerifier;
  readonly end: AbortController;
  readonly running: Promise<unknown>;
}

const hotDocuments = 3;
/** The interval at which the product stores a verifier's position. */
const save_ms = 1_000;

/**
 * A migration of one collection in virtual time: the destination gets the users' writes later, and one verifier per
 * sync task compares.
 */
export class LiveMigration {
  readonly clock: VirtualClock;
  readonly source: LiveSide;
  readonly destination: LiveSide;
  readonly metadata = new MetadataModel();
  readonly processes: Process[] = [];
  readonly #late: { due_ms: number; id: number; value: number | undefined; time: bigint }[] = [];
  readonly #starts: VerifierStart[];
  readonly #over = new AbortController();
  #epoch = 0;

  constructor(readonly options: LiveMigrationOptions) {
    const values = Array.from({ length: options.documents }, () => 0);
    this.clock = new VirtualClock(options.random);
    this.source = new LiveSide('source', values, this.clock);
    this.destination = new LiveSide('destination', [...values], this.clock);
    this.#starts = Array.from({ length: options.tasks }, () => ({ source: null, destination: null }));
    for (let task = 0; task < options.tasks; task += 1) this.begin(task);
  }

  /** Starts the process of a sync task, or its replacement. */
  begin(task: number): void {
    const end = new AbortController();
    this.#epoch += 1;
    const wake = (): Promise<void> => {
      for (const side of [this.source, this.destination]) side.tick();
      return Promise.resolve();
    };
    const verifier = new TaskVerifier(
      this.#deps(task, this.#epoch, end.signal),
      this.#starts[task] ?? { source: null, destination: null },
      wake,
    );
    const run = async (): Promise<void> => {
      await verifier.open(end.signal);
      await Promise.all([verifier.run(end.signal), this.#keep(task, verifier, end.signal)]);
    };
    const running = run().catch((error: unknown) => {
      if (!end.signal.aborted) throw error;
    });
    running.catch(() => undefined);
    this.processes[task] = { verifier, end, running };
  }

  /** Kills the process of a sync task at any point; another one continues. */
  async kill(task: number): Promise<void> {
    const process = this.processes[task];
    process?.end.abort(new Error('killed'));
    await process?.running;
    this.begin(task);
  }

  /** Users write, and changes are applied, until all are. */
  async live(): Promise<void> {
    await Promise.all([this.#write(), this.#apply()]);
  }

  /** Rejects if a process fails, after all of them have ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const result = await Promise.race([
      work(),
      ...this.processes.map(async ({ running }) => running.then(() => new Promise<never>(() => undefined))),
    ]);
    this.#over.abort();
    for (const { end, running } of this.processes) {
      end.abort(new Error('over'));
      await running;
    }
    return result;
  }

  /** The final comparison of all sync tasks. @returns how many documents differ */
  async finalComparison(): Promise<number> {
    const { signal } = this.#over;
    await Promise.all(
      this.processes.map(({ verifier }) => verifier.progressed.until(() => verifier.plannedUpTo >= 0, signal)),
    );
    const times = { source: this.source.tick(), destination: this.destination.tick() };
    const look = { times, expiring: new Set<string>(), whole: true };
    const found = await Promise.all(this.processes.map(({ verifier }) => verifier.finalComparison(look, signal)));
    return found.reduce((sum, count) => sum + count, 0);
  }

  /** The `_id`s of the stored mismatches, each once. */
  get mismatches(): number[] {
    const ids = this.metadata.documents('mismatches').map(({ id }) => Number(decodeValue(restoredValue(id as Binary))));
    return [...new Set(ids)].sort((a, b) => a - b);
  }

  async #write(): Promise<void> {
    const { random, writesPerSecond, writesEnd_ms, writtenBelow, lag_ms } = this.options;
    for (;;) {
      await this.clock.sleep((2 * random() * 1_000) / writesPerSecond, this.#over.signal);
      if (this.clock.monotonic_ms() >= writesEnd_ms) return;
      const id = Math.floor(random() * (random() < 0.1 ? Math.min(hotDocuments, writtenBelow) : writtenBelow));
      const value = random() < 0.2 ? undefined : Math.floor(random() * 3);
      const time = this.source.write(id, value);
      const due_ms = Math.max(this.#late.at(-1)?.due_ms ?? 0, this.clock.monotonic_ms() + random() * lag_ms);
      this.#late.push({ due_ms, id, value, time });
    }
  }

  async #apply(): Promise<void> {
    const { random, writesEnd_ms, stall_ms } = this.options;
    while (this.clock.monotonic_ms() < writesEnd_ms || this.#late.length > 0) {
      await this.clock.sleep(random() < 0.01 ? random() * stall_ms : 10, this.#over.signal);
      for (
        let next = this.#late[0];
        next !== undefined && next.due_ms <= this.clock.monotonic_ms();
        next = this.#late[0]
      ) {
        this.destination.write(next.id, next.value);
        this.#late.shift();
      }
    }
  }

  async #keep(task: number, verifier: TaskVerifier, signal: AbortSignal): Promise<void> {
    for (;;) {
      const { settled } = verifier;
      if (settled !== null) this.#starts[task] = settled;
      await this.clock.sleep(save_ms, signal);
    }
  }

  #deps(task: number, epoch: number, signal: AbortSignal): VerifierDependencies {
    const { documents, tasks, parts, random, batchMax, callMax_ms } = this.options;
    const way = { batchMax, signal, call_ms: () => 1 + random() * callMax_ms };
    const cluster = (side: LiveSide): ClusterClient =>
      fakeCluster({ router: new LiveClient({ side, ...way }), name: side.name });
    const retrying = <T>(_what: string, operation: () => Promise<T>): Promise<T> => operation();
    const collection: CollectionToVerify = {
      key: 'copy@0',
      copy: 'copy',
      copyTasks: [],
      ...namedOn({ database: 'db', name: 'coll' }),
      unordered: false,
      capped: false,
      sizeBytes: 1,
      documentCount: documents,
      planner: 0,
    };
    const bounds = Array.from({ length: parts - 1 }, (_, part) =>
      encodeValue(Math.floor((documents * (part + 1)) / parts)),
    );
    return {
      source: cluster(this.source),
      destination: cluster(this.destination),
      storage: new VerificationStorage(
        new Metadata(this.#metadataClient(signal), retrying),
        `shard${task}`,
        epoch,
        signal,
      ),
      clock: this.clock,
      retrying,
      task,
      tasks,
      keysBytesMax: 1_000_000,
      comparers: this.options.comparers,
      migration: this.#observed(collection, bounds),
    };
  }

  #observed(collection: CollectionToVerify, bounds: RawValue[]): MigrationToVerify {
    const catalog = { ordinal: 0, collections: [collection] };
    const appliedTime = () => this.#late[0]?.time ?? this.source.present;
    const isDraining = () => this.options.isDraining?.() ?? false;
    return {
      catalog: () => Promise.resolve(catalog),
      copied: () => Promise.resolve(new Set([collection.key])),
      boundsOf: () => Promise.resolve(bounds),
      isCopyDone: true,
      untilCopyDone: () => Promise.resolve(),
      untilPlanned: () => new Promise<never>(() => undefined),
      applyLag_seconds: 0,
      isCommitAwaited: false,
      get appliedTime() {
        return appliedTime();
      },
      get isDraining() {
        return isDraining();
      },
    };
  }

  #metadataClient(signal: AbortSignal): NodeClient {
    const unknown = () => Promise.reject(new Error('the metadata supports only commands'));
    return {
      label: 'metadata',
      command: async (_database: string, command: Document) => {
        await this.clock.sleep(1 + this.options.random() * 3, signal);
        return this.metadata.run(command);
      },
      openCursor: unknown,
      write: unknown,
      close: () => Promise.resolve(),
    };
  }
}
