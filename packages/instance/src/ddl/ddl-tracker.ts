import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Clock } from '../async/clock.js';
import { isReshardingCopy, type NamespaceFilter } from '../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import { namespaceOf, type Sharding } from '../catalog/namespace.js';
import { timestampOf } from '../cluster/cluster-time.js';
import type { Namespace } from '../cluster/node-client.js';
import { bucketsOf, seriesOf, shownName } from '../cluster/time-series.js';
import type { NewDdlEntry } from '../store/ddl-journal.js';
import { creationOf, type DdlLedger, type FollowedCollection, restartOf } from './ddl-ledger.js';
import type { DdlEvent } from './ddl-watcher.js';
import type { SourceNames } from './unknown-collections.js';

/** Dependencies of the tracker. */
interface TrackerDependencies {
  ledger: DdlLedger;
  filter: NamespaceFilter;
  remap: NamespaceRemap;
  /**
   * True: every shard reports its copy of a drop or rename. False: one shard reports it for all, after all have
   * executed it.
   */
  showsEachCopy: boolean;
  /** Chunks may move, so nobody knows how many shards have copies of a sharded collection. */
  keepsBalancer: boolean;
  /** A replica set is being sharded: a collection renamed into another database would lose its requested shard key. */
  shardsReplicaSet: boolean;
  clock: Pick<Clock, 'monotonic_ms'>;
  source: Pick<SourceNames, 'hasLeft' | 'timeAboveAll' | 'isUnsharded'>;
  /** Called for an event that only shows that the catalog should be read. */
  onTrigger(): void;
}

/** A change of which some shards' copies have not arrived. */
interface Incomplete {
  event: DdlEvent & { uuid: string };
  collection: FollowedCollection;
  first: bigint;
  last: bigint;
  copies: number;
  copiesExpected: number;
  since_ms: number;
  /** Set when missing copies are no longer expected: a time after all of them. */
  includedTo: bigint | null;
}

/** A collection that gets a name. */
type NamedAnew = FollowedCollection & Pick<DdlEvent, 'time'>;

/** Shards execute a change within moments. If copies are missing for longer, Convoy expected too many. */
const copiesWait_ms = 5_000;

/** A rename across databases builds the new collection under this name. */
const renamedAcrossDatabases = /^tmp[A-Za-z0-9]{5}\.renameCollection$/;

/**
 * Merges all shards' copies of one change into one journal entry. A drop or rename of a sharded collection is complete
 * after one copy per shard that owns chunks of it. If copies are missing, it is complete once the catalog shows it and
 * a later time of all shards has been taken. If one copy stands for all, that time is taken at once. A repeated change
 * of a UUID, or one that the journal already includes, is another shard's copy.
 */
export class DdlTracker {
  /**
   * Collections that are created to replace existing ones, by UUID: `movePrimary` fills them, and shows no documents.
   */
  readonly arriving = new Map<string, FollowedCollection>();
  readonly #incomplete = new Map<string, Incomplete>();

  constructor(private readonly deps: TrackerDependencies) {}

  /** The time of the first change that is not in the journal yet, or null. */
  get firstIncomplete(): bigint | null {
    let first: bigint | null = null;
    for (const one of this.#incomplete.values()) if (first === null || one.first < first) first = one.first;
    return first;
  }

  /** Forgets all copies: the stream will return them again. */
  forget(): void {
    this.#incomplete.clear();
  }

  /**
   * An unknown kind of event, for example of a later release, is a reason to read the catalog.
   * @throws ConvoyError `shardKeyChanged` for what cannot be replicated; what the ledger throws
   */
  async take(event: DdlEvent, signal: AbortSignal): Promise<void> {
    const { uuid, operation } = event;
    const includedTo = uuid === null ? null : this.deps.ledger.journalledTo(uuid);
    if (includedTo !== null && event.time <= includedTo) return;
    if (operation === 'reshardCollection') {
      await this.#takeResharding(event, signal);
    } else if (
      uuid === null ||
      (operation !== 'drop' && operation !== 'rename' && operation !== 'create' && operation !== 'shardCollection')
    ) {
      this.#refuseRefinedKey(event);
      this.deps.onTrigger();
    } else if (operation === 'create') {
      await this.#takeCreation({ ...event, uuid }, signal);
    } else if (operation === 'shardCollection') {
      await this.#takeSharding({ ...event, uuid }, signal);
    } else {
      await this.#takeCopy({ ...event, uuid }, signal);
    }
  }

  /**
   * Completes changes whose missing copies did not arrive in time. Their entry includes everything up to a time after
   * all shards, so the stream must be read up to there first.
   * @param readBelow everything below this time has been read
   */
  async settle(readBelow: bigint, signal: AbortSignal): Promise<void> {
    for (const one of this.#incomplete.values()) {
      if (one.includedTo === null) await this.#giveUpWaiting(one, signal);
      else if (readBelow > one.includedTo) {
        if (one.includedTo > one.last) one.last = one.includedTo;
        await this.#complete(one, signal);
      }
    }
  }

  async #giveUpWaiting(one: Incomplete, signal: AbortSignal): Promise<void> {
    const { deps } = this;
    if (deps.clock.monotonic_ms() - one.since_ms < copiesWait_ms) return;
    if (await deps.source.hasLeft(one.collection, signal)) one.includedTo = await deps.source.timeAboveAll(signal);
    else one.since_ms = deps.clock.monotonic_ms();
  }

  async #takeCopy(event: DdlEvent & { uuid: string }, signal: AbortSignal): Promise<void> {
    const before = this.#incomplete.get(event.uuid);
    // Changes of one collection are sequential: the next one completes the one before.
    if (before !== undefined && !isSameChange(before.event, event))
      await this.#completeUntil(event.time, before, signal);
    await this.#untilApplied(event.uuid, signal);
    const collection = this.deps.ledger.followed.get(event.uuid);
    if (collection === undefined) {
      this.arriving.delete(event.uuid);
      if (event.operation === 'rename') await this.#takeRenamedStranger(event, signal);
      // The drop of a view has the UUID of the collection that holds the views.
      else if (this.deps.filter.includes(event.database, event.name)) this.deps.onTrigger();
      return;
    }
    if (event.operation === 'rename' && isAt(collection, event.to)) return;
    const one = this.#incomplete.get(event.uuid) ?? (await this.#begin(event, collection, signal));
    one.copies += 1;
    if (event.time > one.last) one.last = event.time;
    if (one.copies >= one.copiesExpected) await this.#complete(one, signal);
  }

  async #begin(
    event: DdlEvent & { uuid: string },
    collection: FollowedCollection,
    signal: AbortSignal,
  ): Promise<Incomplete> {
    const { deps } = this;
    const sharding = deps.ledger.collections.get(event.uuid)?.sharding ?? null;
    const copies = sharding === null ? 1 : this.#copiesOf(sharding);
    const stands = copies > 1 && !deps.showsEachCopy;
    const one = {
      event,
      collection,
      first: event.time,
      last: event.time,
      copies: 0,
      copiesExpected: stands ? Infinity : copies,
      since_ms: deps.clock.monotonic_ms(),
      includedTo: stands ? await deps.source.timeAboveAll(signal) : null,
    };
    this.#incomplete.set(event.uuid, one);
    return one;
  }

  #copiesOf({ chunks }: Sharding): number {
    return this.deps.keepsBalancer ? Infinity : Math.max(1, new Set(chunks.map(({ shard }) => shard)).size);
  }

  async #complete({ event, last }: Incomplete, signal: AbortSignal): Promise<void> {
    const { filter, ledger } = this.deps;
    if (event.to !== null) await this.#completeBefore({ ...event, ...event.to }, signal);
    await ledger.add((followed): NewDdlEntry | null => {
      const collection = followed.get(event.uuid);
      if (collection === undefined) return null;
      const { uuid, database, name } = collection;
      const found = { uuid, database, name, to: null, droppedUuid: null, time: timestampOf(last) };
      const { to } = event;
      if (event.operation === 'drop' || to === null || !filter.includes(to.database, to.name))
        return { ...found, operation: 'drop' };
      if (isAt(collection, to)) return null;
      this.#refuseOtherDocuments(collection, to);
      const operation = this.#staysInDatabase(collection, to) ? 'rename' : 'restart';
      return { ...found, operation, to, droppedUuid: followed.at(to.database, to.name)?.uuid ?? null };
    }, signal);
    this.#incomplete.delete(event.uuid);
  }

  /** Servers give a name anew once every shard has executed what gave it to its last collection, and took it. */
  async #completeBefore({ uuid, database, name, time }: NamedAnew, signal: AbortSignal): Promise<void> {
    for (const one of this.#incomplete.values())
      if (one.event.uuid !== uuid && one.first < time && isAt({ database, name }, one.event.to))
        await this.#completeUntil(time, one, signal);
    // A time series and another collection of its users' name exclude each other.
    for (const each of [name, seriesOf(name) ?? bucketsOf(name)]) {
      const last = this.deps.ledger.followed.at(database, each);
      const leaving = last === undefined || last.uuid === uuid ? undefined : this.#incomplete.get(last.uuid);
      if (leaving !== undefined && leaving.first < time) await this.#completeUntil(time, leaving, signal);
    }
  }

  /** Completes a change that all shards have executed before a later one. Copies that no stream shows count too. */
  async #completeUntil(time: bigint, one: Incomplete, signal: AbortSignal): Promise<void> {
    if (one.includedTo !== null && time - 1n > one.last) one.last = time - 1n;
    await this.#complete(one, signal);
  }

  /** Servers rename no sharded collection into another database, and give any other one a new UUID there. */
  #staysInDatabase(from: FollowedCollection, to: Namespace): boolean {
    const { remap, shardsReplicaSet } = this.deps;
    if (remap.toDestination(from).database === remap.toDestination(to).database) return true;
    if (shardsReplicaSet) throw renamedAcross(to);
    return false;
  }

  /** Under another name another query may choose the documents, and those that are copied do not say which. */
  #refuseOtherDocuments(from: FollowedCollection, to: Namespace): void {
    const filtered = [from, to].find(({ database, name }) => this.deps.filter.documentFilter(database, name));
    if (filtered === undefined) return;
    throw new ConvoyError(
      'ddlNotSupported',
      `${from.database}.${from.name} was renamed to ${to.database}.${to.name}, and ${filtered.database}.` +
        `${filtered.name} has a documentFilter. Start anew.`,
    );
  }

  /**
   * A collection that was not followed gets a followed name: `$out`, `convertToCapped`, or a rename into the filter.
   */
  async #takeRenamedStranger(event: DdlEvent & { uuid: string }, signal: AbortSignal): Promise<void> {
    const { uuid, to, time, database, name } = event;
    const { filter, ledger, shardsReplicaSet } = this.deps;
    if (to === null || !filter.includes(to.database, to.name)) return;
    if (shardsReplicaSet && renamedAcrossDatabases.test(name)) throw renamedAcross(to);
    if (isReshardingCopy(name)) throw shardKeyChanged(shownName({ database, name: to.name }), 'resharded');
    const named = { ...to, uuid, time };
    await this.#completeBefore(named, signal);
    await this.#addCreation(named, signal);
    // Before 6.0 sync tasks and comparisons find it too: its creation was being written under the former name.
    const collection = ledger.followed.get(uuid);
    if (collection !== undefined && !isAt(collection, to)) await this.take(event, signal);
  }

  async #takeCreation(event: NamedAnew, signal: AbortSignal): Promise<void> {
    const { uuid, database, name } = event;
    if (!this.deps.filter.includes(database, name)) return;
    await this.#completeBefore(event, signal);
    const standing = this.deps.ledger.followed.at(database, name);
    if (standing === undefined || standing.uuid === uuid) await this.#addCreation(event, signal);
    else this.arriving.set(uuid, { uuid, database, name });
  }

  async #addCreation(event: NamedAnew, signal: AbortSignal): Promise<void> {
    await this.deps.ledger.add((followed) => creationOf(followed, event, timestampOf(event.time)), signal);
  }

  /** A collection that was sharded changes its form on the destination, which only an empty collection can. */
  async #takeSharding({ uuid, time }: DdlEvent & { uuid: string }, signal: AbortSignal): Promise<void> {
    const { ledger } = this.deps;
    await this.#untilApplied(uuid, signal);
    await ledger.add(
      (followed) => (ledger.isUnsharded(uuid) ? restartOf(followed, uuid, timestampOf(time)) : null),
      signal,
    );
  }

  /** The number of shards of a new collection is known once it is created. */
  async #untilApplied(uuid: string, signal: AbortSignal): Promise<void> {
    const { ledger } = this.deps;
    await ledger.changed.until(() => !ledger.isToBeMade(uuid), signal);
  }

  /**
   * A resharding gives a collection another UUID, and its event does not name the command (8.0). Only one that is not
   * sharded can be moved, and only sharded ones can be resharded or unsharded. What the collection was is known:
   * `shardCollection` is taken first. What the cluster shows by now may already be a later change.
   */
  async #takeResharding(event: DdlEvent, signal: AbortSignal): Promise<void> {
    const { ledger, filter } = this.deps;
    const { uuid, database, name, resharded } = event;
    if (uuid !== null) await this.#untilApplied(uuid, signal);
    if (!filter.includes(database, name) && (uuid === null || ledger.followed.get(uuid) === undefined)) {
      this.deps.onTrigger();
      return;
    }
    if (resharded === null || !this.#isMoved(uuid, resharded))
      throw shardKeyChanged(shownName({ database, name }), await this.#reshardingOf(event, signal));
    if (uuid !== null) this.arriving.delete(uuid);
    await this.#takeMove({ database, name, time: event.time, uuid: resharded.to }, signal);
  }

  #isMoved(uuid: string | null, { keepsKey, provenance }: NonNullable<DdlEvent['resharded']>): boolean {
    if (provenance !== null) return provenance === 'moveCollection';
    const known = uuid === null ? undefined : this.deps.ledger.collections.get(uuid);
    return keepsKey && (known?.sharding ?? null) === null;
  }

  /** A collection that moved between the start time and the reading of the catalog may be read before it was whole. */
  async #takeMove(moved: NamedAnew, signal: AbortSignal): Promise<void> {
    const { ledger } = this.deps;
    const includedTo = ledger.journalledTo(moved.uuid);
    if (includedTo !== null && moved.time <= includedTo) return;
    if (ledger.followed.get(moved.uuid) === undefined) return this.#takeCreation(moved, signal);
    await ledger.add((followed) => restartOf(followed, moved.uuid, timestampOf(moved.time)), signal);
  }

  async #reshardingOf({ resharded }: DdlEvent, signal: AbortSignal): Promise<string> {
    if (resharded === null) return 'resharded';
    return (await this.deps.source.isUnsharded(resharded.to, signal)) ? 'unsharded' : 'resharded';
  }

  #refuseRefinedKey({ operation, uuid, database, name }: DdlEvent): void {
    if (operation !== 'refineCollectionShardKey') return;
    const isFollowed = uuid !== null && this.deps.ledger.followed.get(uuid) !== undefined;
    if (isFollowed || this.deps.filter.includes(database, name))
      throw shardKeyChanged(shownName({ database, name }), 'given a refined shard key');
  }
}

function isSameChange(a: DdlEvent, b: DdlEvent): boolean {
  return a.operation === b.operation && a.to?.database === b.to?.database && a.to?.name === b.to?.name;
}

function isAt(collection: Pick<FollowedCollection, 'database' | 'name'>, to: DdlEvent['to']): boolean {
  return to !== null && collection.database === to.database && collection.name === to.name;
}

function shardKeyChanged(namespace: string, what: string): ConvoyError {
  return new ConvoyError('shardKeyChanged', `${namespace} was ${what} on the source during the migration. Start anew.`);
}

function renamedAcross(to: Namespace): ConvoyError {
  return new ConvoyError(
    'renameAcrossDatabases',
    `A collection was renamed into another database, to ${namespaceOf(to)}. A migration from a replica set to a ` +
      'sharded cluster does not support this. Start anew.',
  );
}
