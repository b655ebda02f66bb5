import type { Document } from 'mongodb';
import { isBuiltAs } from '../../../src/catalog/build-indexes.js';
import { sameDocument } from '../../../src/catalog/namespace.js';
import { type CollectionPlan, planCollection } from '../../../src/catalog/destination-plan.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import type { ClusterClient, Version } from '../../../src/cluster/node-client.js';
import { fakeCluster, FakeNodeClient, serverError } from '../fake-node-client.js';
import { indexAsRead, keyPattern } from './as-read.js';

const id = { v: 2, key: { _id: 1 }, name: '_id_' };

/** A router before two shards with their own indexes. It sends every change to both, whatever one of them answers. */
export class TwoShards {
  readonly indexes = { a: [id] as Document[], b: [id] as Document[] };
  /** The command that the second shard next refuses, usually while it elects a primary; the first one executes it. */
  refused: 'createIndexes' | 'collMod' | 'dropIndexes' | null = null;
  /** The change of an index that both refuse. */
  refusedChange: 'hidden' | 'expireAfterSeconds' | null = null;
  refusal: Error = serverError(10_107, 'NotWritablePrimary');
  /** What the router answers to `$indexStats` instead of the shards. */
  statsFailure: Error | null = null;
  readonly cluster: ClusterClient;

  constructor(version: Version = [7, 0, 0]) {
    const router = new FakeNodeClient('router', {
      listIndexes: () => ({ cursor: { firstBatch: this.indexes.a } }),
      aggregate: () => {
        if (this.statsFailure !== null) throw this.statsFailure;
        const rows = (['a', 'b'] as const).flatMap((shard) =>
          this.indexes[shard].map((spec) => ({ name: String(spec.name), shard, spec })),
        );
        return { cursor: { firstBatch: rows } };
      },
      createIndexes: (_database, command) =>
        this.#onBoth(command, (list) => create(list, command.indexes as Document[])),
      collMod: (_database, command) =>
        this.#onBoth(command, (list) => {
          const { name, ...changes } = command.index as Document;
          if (this.refusedChange !== null && this.refusedChange in changes) throw this.refusal;
          const index = list.find((one) => one.name === name);
          if (index === undefined) throw serverError(27, 'IndexNotFound');
          Object.assign(index, changes);
          if (index.unique === true) delete index.prepareUnique;
        }),
      dropIndexes: (_database, command) =>
        this.#onBoth(command, (list) => {
          const at = list.findIndex(({ name }) => name === command.index);
          if (at >= 0) list.splice(at, 1);
        }),
    });
    this.cluster = fakeCluster({ router, version, shardIds: ['a', 'b'] });
  }

  /** The plan of a sharded collection. */
  planOf(indexes: readonly Document[]): CollectionPlan {
    const entry = {
      database: 'app',
      name: 'c',
      type: 'collection' as const,
      uuid: '0c',
      options: {},
      indexes: [id, ...indexes].map(indexAsRead),
      sharding: { key: keyPattern({ _id: 1 }), unique: false, chunks: [], everMoved: false },
      primaryShard: 'a',
      sizeBytes: 0,
      documentCount: 0,
    };
    const rules = {
      source: { shardIds: ['a', 'b'] },
      destination: this.cluster,
      indexScope: 'all',
      remap: noRemap,
    } as const;
    return planCollection(entry, rules).plan;
  }

  /** The names of each shard's indexes but that of `_id`. */
  get names(): string[][] {
    return Object.values(this.indexes).map((list) =>
      list.flatMap(({ name }) => (name === '_id_' ? [] : [String(name)])),
    );
  }

  #onBoth(command: Document, change: (list: Document[]) => void): Document {
    const failures: unknown[] = [];
    for (const [shard, list] of Object.entries(this.indexes)) {
      try {
        const isRefused = shard === 'b' && this.refused !== null && this.refused in command;
        if (isRefused) this.refused = null;
        if (isRefused) throw this.refusal;
        change(list);
      } catch (failure) {
        failures.push(failure);
      }
    }
    const [failure] = failures;
    if (failure instanceof Error) throw failure;
    return {};
  }
}

function create(list: Document[], wanted: readonly Document[]): void {
  const missing = wanted.filter((one) => !list.some((there) => sameDocument(there, { v: 2, ...one })));
  for (const one of missing) {
    const there = list.find(({ name }) => name === one.name);
    if (there !== undefined)
      throw isBuiltAs(there, { v: 2, ...one })
        ? serverError(85, 'IndexOptionsConflict')
        : serverError(86, 'IndexKeySpecsConflict');
  }
  list.push(...missing.map((one) => ({ v: 2, ...one })));
}
