import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { timeOf, timestampOf } from '../../../src/cluster/cluster-time.js';
import type { Retrying } from '../../../src/async/retry.js';
import { DdlLedger, type FollowedCollection, restartOf } from '../../../src/ddl/ddl-ledger.js';
import { DdlTracker } from '../../../src/ddl/ddl-tracker.js';
import { takeUnknown } from '../../../src/ddl/unknown-collections.js';
import { type DdlEntry, DdlJournal } from '../../../src/store/ddl-journal.js';
import { Metadata } from '../../../src/store/metadata.js';
import { MigrationRecords } from '../../../src/store/migration-record.js';
import { runTogether } from '../../../src/async/together.js';
import { Condition } from '../../../src/async/waiting.js';
import { type Faults, Network } from './calls.js';
import { modelNamespace, type NamedCollection } from './change-events.js';
import { DestinationClient } from './destination-client.js';
import type { DestinationModel } from './destination-model.js';
import type { Scheduler } from './scheduler.js';
import type { ShownDdlChange } from './source-catalog.js';
import { modelStart, type SourceHistory } from './source-history.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

/** What a leader works with. */
export interface LeaderModelDependencies {
  source: SourceHistory;
  destination: DestinationModel;
  scheduler: Scheduler;
  faults: Faults;
  retrying: Retrying;
  atStart: readonly NamedCollection[];
  /** The catalog entry of a collection, with its task bounds. */
  entryOf: (collection: NamedCollection) => CatalogEntry;
}

const pause_ms = 50;
/** A DDL watcher falls behind the tasks now and then; these report collections whose changes it has not read. */
const slowPausesMax = 30;
const filter = compileNamespaceFilter({
  includeNamespaces: [{ database: modelNamespace.database }],
  excludeNamespaces: [],
});

/** One process that leads: finds DDL changes, has all tasks acknowledge them, applies them by UUID. */
export class LeaderModel {
  readonly #stop = new AbortController();
  readonly #network: Network;
  readonly #metadata: Metadata;
  readonly #records: MigrationRecords;
  readonly #journal: DdlJournal;
  readonly #moved = new Condition();
  #ledger: DdlLedger;
  #tracker: DdlTracker;
  #epoch = 0;
  #position = modelStart;
  #failure: unknown = null;
  #deposed = false;

  /** What the source's catalog shows. */
  readonly #source = {
    hasLeft: async ({ uuid, name }: FollowedCollection, signal: AbortSignal) =>
      (await this.#namesNow(signal)).get(uuid) !== name,
    namesOf: (_database: string, signal: AbortSignal) => this.#namesNow(signal),
    timeAboveAll: (signal: AbortSignal) => this.#timeNow(signal),
    isUnsharded: () => Promise.resolve(false),
  };

  constructor(private readonly input: LeaderModelDependencies) {
    this.#network = new Network(input.scheduler, input.faults);
    const client = new DestinationClient(input.destination, this.#network, () => undefined, true);
    this.#metadata = new Metadata(client, input.retrying);
    this.#records = new MigrationRecords(this.#metadata);
    this.#journal = new DdlJournal(this.#metadata, this.#records);
    this.#ledger = this.#ledgerOf([]);
    this.#tracker = this.#trackerOf(this.#ledger);
  }

  /** The failure that ended it by itself; being deposed is none. */
  get failure(): unknown {
    return this.#failure;
  }

  /** A former leader's late call has taken its place: somebody has to lead again. */
  get deposed(): boolean {
    return this.#deposed;
  }

  /** Whether all changes below a time are known and applied. */
  isSettled(time: bigint): boolean {
    return this.#ddlWatermark > time && this.#ledger.next === undefined;
  }

  /** Whether the journal has anything above a time. */
  changedAfter(time: bigint): boolean {
    return this.#ledger.latest > time;
  }

  describe(): Record<string, unknown> {
    return {
      position: this.#position,
      incomplete: this.#tracker.firstIncomplete,
      done: this.#ledger.done,
      next: this.#ledger.next,
      known: this.#ledger.known,
    };
  }

  begin(): void {
    this.#run().catch((error: unknown) => {
      this.#deposed = error instanceof ConvoyError && error.error === 'staleEpoch';
      if (!this.#deposed && !this.#stop.signal.aborted) this.#failure = error;
    });
  }

  /** Ends at once: calls that have not arrived yet may still do so. */
  crash(): void {
    this.#stop.abort(new ConvoyError('shuttingDown'));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    this.#epoch = await this.#records.takeLeaderEpoch(signal);
    await this.#journal.claim(this.#epoch, signal);
    const record = await this.#records.read(signal);
    if (record === null) throw new Error('no migration');
    this.#ledger = this.#ledgerOf(await this.#journal.readAfter(0, record.ddlChanges.known, signal));
    this.#tracker = this.#trackerOf(this.#ledger);
    await this.#records.raiseDdlChanges(this.#epoch, { done: this.#ledger.done }, signal);
    this.#position = record.ddlWatermark === null ? modelStart : timeOf(record.ddlWatermark.time);
    await runTogether(signal, [
      (each) => this.#find(each),
      (each) => this.#apply(each),
      (each) => this.#takeUnknown(each),
    ]);
  }

  #ledgerOf(ddlChanges: readonly DdlEntry[]): DdlLedger {
    const { atStart, entryOf } = this.input;
    return new DdlLedger(this.#journal, this.#epoch, atStart.map(entryOf), ddlChanges);
  }

  #trackerOf(ledger: DdlLedger): DdlTracker {
    return new DdlTracker({
      ledger,
      filter,
      remap: noRemap,
      showsEachCopy: this.input.source.catalog.showsEachCopy,
      keepsBalancer: false,
      shardsReplicaSet: false,
      clock: this.input.scheduler,
      source: this.#source,
      onTrigger: () => undefined,
    });
  }

  get #ddlWatermark(): bigint {
    const first = this.#tracker.firstIncomplete;
    return first !== null && first < this.#position ? first : this.#position;
  }

  async #find(signal: AbortSignal): Promise<void> {
    const { source, scheduler } = this.input;
    for (;;) {
      const from = this.#position;
      const { shown, below } = await this.#call(
        'ddlWatcher',
        () => {
          const to = this.#readableBelow(from);
          return { shown: source.catalog.shown.filter(({ time }) => time >= from && time < to), below: to };
        },
        signal,
      );
      for (const one of shown) await this.#take(one, signal);
      await this.#tracker.settle(below, signal);
      this.#position = below;
      if (scheduler.chance(0.7))
        await this.#records.updateAsLeader(
          this.#epoch,
          { ddlWatermark: { time: timestampOf(this.#ddlWatermark) } },
          signal,
        );
      this.#moved.changed();
      for (let pauses = scheduler.chance(0.2) ? scheduler.between(1, slowPausesMax) : 1; pauses > 0; pauses -= 1)
        await scheduler.sleep(pause_ms, signal);
    }
  }

  /** Streams advance by any stretch at once; often they stop right before a change. */
  #readableBelow(from: bigint): bigint {
    const { source, scheduler } = this.input;
    const known = source.shards.map(({ oplog }) => oplog.at(-1)?.time ?? 0n).reduce((a, b) => (a < b ? a : b));
    if (known <= from) return from;
    const ahead = source.catalog.shown.filter(({ time }) => time > from && time <= known);
    const before = ahead[scheduler.between(0, ahead.length * 2)];
    return before?.time ?? from + BigInt(scheduler.between(0, Number(known - from)));
  }

  /**
   * All collections of the model are sharded on the destination: one that is sharded on the source is recreated anyway.
   */
  async #take({ operation, uuid, name, to, time }: ShownDdlChange, signal: AbortSignal): Promise<void> {
    const ledger = this.#ledger;
    if (operation !== 'shardCollection') {
      await this.#tracker.take(
        {
          operation,
          uuid,
          ...modelNamespace,
          name,
          time,
          to: to === null ? null : { ...modelNamespace, name: to },
          resharded: null,
        },
        signal,
      );
      return;
    }
    if (time > (ledger.journalledTo(uuid) ?? 0n))
      await ledger.add((followed) => restartOf(followed, uuid, timestampOf(time)), signal);
  }

  async #apply(signal: AbortSignal): Promise<void> {
    const ledger = this.#ledger;
    for (;;) {
      await ledger.changed.until(() => ledger.next !== undefined, signal);
      const ddlChange = ledger.next;
      if (ddlChange === undefined) throw new Error('a journal with gaps');
      while (!(await this.#tasks(signal)).every(({ acknowledged }) => Number(acknowledged) >= ddlChange.ordinal))
        await this.input.scheduler.sleep(pause_ms, signal);
      await ledger.finish(await this.#call('apply', () => this.#carryOut(ddlChange), signal), signal);
    }
  }

  /** All tasks' records; entries wait until every task has one. */
  async #tasks(signal: AbortSignal): Promise<Document[]> {
    const tasks = await this.#metadata.find('tasks', {}, signal);
    return tasks.length < this.input.source.shards.length ? [{ acknowledged: -1 }] : tasks;
  }

  /** A deposed leader changes nothing any more. */
  #carryOut({ operation, uuid, droppedUuid, name, to }: DdlEntry): CatalogEntry | null {
    const { destination, source, entryOf } = this.input;
    const [record] = destination.metadata.documents('migration');
    if (Number(record?.leaderEpoch) !== this.#epoch) throw new ConvoyError('staleEpoch');
    if (droppedUuid !== null) destination.drop(droppedUuid);
    if (operation === 'rename' && to !== null) {
      if (destination.nameOf(uuid) === null) return null;
      destination.rename(uuid, to.name);
      return entryOf({ uuid, name: to.name });
    }
    destination.drop(uuid);
    if (operation === 'drop' || source.catalog.nameOf(uuid) === null) return null;
    destination.make(uuid, name);
    return entryOf({ uuid, name });
  }

  async #takeUnknown(signal: AbortSignal): Promise<void> {
    const taking = {
      ledger: this.#ledger,
      filter,
      remap: noRemap,
      source: this.#source,
      watcher: {
        untilKnown: (time: bigint, each: AbortSignal) => this.#moved.until(() => this.#ddlWatermark > time, each),
      },
      add: (...[judge, each]: Parameters<DdlLedger['add']>) => this.#ledger.add(judge, each),
    };
    for (;;) {
      await takeUnknown(
        taking,
        (await this.#tasks(signal)).flatMap((task) => (task.unknown ?? []) as FollowedCollection[]),
        signal,
      );
      await this.input.scheduler.sleep(pause_ms, signal);
    }
  }

  #namesNow(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { source } = this.input;
    return this.#call(
      'look',
      () => new Map(source.catalog.namesAt(source.now).map(({ uuid, name }) => [uuid, name])),
      signal,
    );
  }

  #timeNow(signal: AbortSignal): Promise<bigint> {
    return this.#call('take a time', () => this.input.source.now, signal);
  }

  #call<T>(label: string, effect: () => T, signal: AbortSignal): Promise<T> {
    return this.input.retrying(label, () => this.#network.call(signal, effect), signal);
  }
}
