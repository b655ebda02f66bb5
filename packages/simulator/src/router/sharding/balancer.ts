import { Long, Double, Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import { chunkBytes } from '../../config/chunk-size.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import type { NodeRelease } from '../../node/node-release.js';
import type { RouterContext } from '../router-context.js';
import { type BalancedCollection, planMoves, zoneSplits } from './balancer-policy.js';
import { balancerSettings, inWindow, isExempt, splitsByItself } from './balancer-settings.js';
import { markJumbo, splitChunk } from './chunk-changes.js';
import { inRange } from './chunk-lookup.js';
import { type Migration, moveChunk } from './chunk-migration.js';

/** Time between two rounds without moves (server: 10 s), and after a move (1 s) as a fraction of it. */
export const roundMsDefault = 10_000;
const busyRoundFraction = 10;
const chunkTooBig = 153;

interface BalancerOptions {
  readonly migration: Migration;
  readonly configShard: ClusterShard;
  /** The release of the config server. */
  readonly release: Pick<NodeRelease, 'binary'>;
  /** Milliseconds between rounds without moves. 0 for no rounds of its own. */
  readonly roundMs: number;
  /** Time of day, for `activeWindow`. */
  readonly now?: () => Date;
}

/** The balancer of the cluster: moves chunks round by round, while `config.settings` enables it. */
export class Balancer {
  #rounds = 1;
  #round: Promise<number> | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #closed = new AbortController();

  constructor(private readonly options: BalancerOptions) {
    this.#plan(options.roundMs);
  }

  async start(): Promise<Doc> {
    await this.#set('full');
    return new Map();
  }

  /** Stops, and waits for the current round. */
  async stop(): Promise<Doc> {
    await this.#set('off');
    await this.#round;
    return new Map();
  }

  status(): Doc {
    const { mode } = balancerSettings(this.options.configShard.access);
    const reply = doc(
      ['mode', mode],
      ['inBalancerRound', this.#round !== undefined],
      ['numBalancerRounds', Long.fromInt(this.#rounds)],
    );
    return this.options.release.binary.atLeast(8, 0) ? reply.set('term', Long.fromInt(1)) : reply;
  }

  /** Runs one round now, if the settings allow it. @returns the number of moved chunks */
  async round(): Promise<number> {
    this.#round ??= this.#balance().finally(() => {
      this.#round = undefined;
      this.#rounds += 1;
    });
    return this.#round;
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#timer);
  }

  /** All imbalances of a collection, as the moves that would remove them. */
  input(collection: ShardedCollection): BalancedCollection {
    const {
      migration,
      configShard,
      release: { binary: version },
    } = this.options;
    const shards = migration.catalog.shards.map(({ id, draining, zones, stored }) => {
      return { id, draining, zones, bytes: stored.collection(collection.namespace)?.documentBytes ?? 0 };
    });
    const rangeBytes = version.atLeast(6, 0) ? chunkBytes(configShard.stored, version) : undefined;
    return { collection, shards, zones: migration.catalog.zonesOf(collection.namespace), rangeBytes };
  }

  #plan(delayMs: number): void {
    if (delayMs <= 0 || this.#closed.signal.aborted) return;
    this.#timer = setTimeout(() => {
      void this.round()
        .catch(() => 0)
        .then((moved) => this.#plan(moved > 0 ? this.options.roundMs / busyRoundFraction : this.options.roundMs));
    }, delayMs);
    this.#timer.unref();
  }

  async #set(mode: 'full' | 'off'): Promise<void> {
    const { store } = this.options.migration.catalog;
    await store.set('settings', 'balancer', doc(['mode', mode], ['stopped', mode === 'off']));
    if (this.options.release.binary.atLeast(8, 0))
      await store.set('settings', 'automerge', doc(['enabled', mode === 'full']));
    if (!this.options.release.binary.atLeast(6, 0))
      await store.set('settings', 'autosplit', doc(['enabled', mode === 'full']));
  }

  get #active(): boolean {
    const { configShard } = this.options;
    if (!configShard.node.up || this.#closed.signal.aborted) return false;
    const settings = balancerSettings(configShard.stored);
    return settings.mode === 'full' && inWindow(settings, this.options.now?.() ?? new Date());
  }

  async #balance(): Promise<number> {
    const {
      migration,
      configShard,
      release: { binary: version },
    } = this.options;
    let moved = 0;
    for (const { namespace } of migration.catalog.collections) {
      if (!this.#active) return moved;
      if (isExempt(configShard.stored, namespace)) continue;
      await this.#splitAtZones(namespace);
      if (!version.atLeast(6, 0) && splitsByItself(configShard.stored)) await this.#splitLarge(namespace);
      moved += await this.#moveIn(namespace);
    }
    return moved;
  }

  async #moveIn(namespace: string): Promise<number> {
    const { migration, configShard } = this.options;
    const collection = migration.catalog.collection(namespace);
    if (collection === undefined) return 0;
    const { waitForDelete } = balancerSettings(configShard.stored);
    let moved = 0;
    for (const { chunk, to } of planMoves(this.input(collection))) {
      if (!this.#active) return moved;
      try {
        await this.#shrink(namespace, chunk.min);
        await moveChunk(migration, namespace, chunk.min, migration.catalog.shard(to), {
          waitForDelete,
          signal: this.#closed.signal,
        });
        moved += 1;
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        if (error.code === chunkTooBig) await this.#markJumbo(namespace, chunk.min);
      }
    }
    return moved;
  }

  async #markJumbo(namespace: string, min: KeyValues): Promise<void> {
    const { catalog } = this.options.migration;
    const collection = catalog.collection(namespace);
    if (collection !== undefined) await markJumbo(catalog, collection, collection.chunks.find(min));
  }

  async #splitAtZones(namespace: string): Promise<void> {
    const { catalog } = this.options.migration;
    for (;;) {
      const collection = catalog.collection(namespace);
      const [first] = collection === undefined ? [] : zoneSplits(collection, catalog.zonesOf(namespace));
      if (collection === undefined || first === undefined) return;
      await splitChunk(catalog, collection, first.chunk, [first.at]);
    }
  }

  async #splitLarge(namespace: string): Promise<void> {
    const collection = this.options.migration.catalog.collection(namespace);
    for (const chunk of collection?.chunks.chunks ?? []) await this.#splitBySize(namespace, chunk.min, false);
  }

  /** Since 6.0 only a range of the configured size moves, whatever the size of its chunk. */
  async #shrink(namespace: string, min: KeyValues): Promise<void> {
    if (this.options.release.binary.atLeast(6, 0)) await this.#splitBySize(namespace, min, true);
  }

  /**
   * Splits a chunk that holds more bytes than a chunk should.
   * @param once true to split off only one part of that size
   */
  async #splitBySize(namespace: string, min: KeyValues, once: boolean): Promise<void> {
    const {
      migration,
      configShard,
      release: { binary: version },
    } = this.options;
    const collection = migration.catalog.collection(namespace);
    if (collection === undefined) return;
    const chunk = collection.chunks.find(min);
    const { stored } = migration.catalog.shard(chunk.shard);
    const limit = chunkBytes(configShard.stored, version);
    if ((stored.collection(namespace)?.documentBytes ?? 0) <= limit) return;
    const keys = splitKeys(
      collection,
      stored.documents(namespace, inRange(collection, chunk.min, chunk.max)),
      chunk.min,
      limit,
    );
    if (keys.length > 0) await splitChunk(migration.catalog, collection, chunk, once ? keys.slice(0, 1) : keys);
  }
}

/** Keys at which parts of about the given size end. */
function splitKeys(
  collection: ShardedCollection,
  documents: readonly Uint8Array[],
  min: KeyValues,
  bytesMax: number,
): KeyValues[] {
  const sized = documents
    .map((document) => ({ key: collection.key.keyOf(document), bytes: document.length }))
    .sort((a, b) => compareKeys(a.key, b.key));
  const keys: KeyValues[] = [];
  let last = min;
  let bytes = 0;
  for (const { key, bytes: size } of sized) {
    if (bytes + size > bytesMax && compareKeys(key, last) > 0) {
      keys.push(key);
      last = key;
      bytes = 0;
    }
    bytes += size;
  }
  return keys;
}

const bytesPerMegabyte = 1024 * 1024;

/** `balancerCollectionStatus`: what the balancer still has to do for a collection. */
export function balancerCollectionStatus(context: RouterContext, request: CommandRequest, balancer: Balancer): Doc {
  const namespace = requiredText(request.body, 'balancerCollectionStatus');
  if (context.version.atLeast(8, 0) && context.catalog.collection(namespace) === undefined)
    throw new CommandError(118, 'NamespaceNotSharded', 'Collection unsharded or undefined');
  const collection = context.catalog.sharded(namespace);
  const input = balancer.input(collection);
  const inZones = zoneSplits(collection, input.zones).length === 0;
  const violation = inZones ? planMoves(input)[0]?.reason : 'zoneViolation';
  const reply: Doc = new Map();
  const size = chunkBytes(context.configShard.access, context.version) / bytesPerMegabyte;
  if (context.version.atLeast(8, 0)) reply.set('chunkSize', new Double(size));
  else if (context.version.atLeast(6, 0)) reply.set('chunkSize', new Int32(Math.floor(size)));
  reply.set('balancerCompliant', violation === undefined);
  return violation === undefined ? reply : reply.set('firstComplianceViolation', violation);
}
