import { type Document, MaxKey, MinKey } from 'mongodb';
import type { Stage } from './history.js';
import { database, type SourceCollection, sourceCollections, views } from './source-collections.js';
import { historySeries, placeSeries } from './series.js';
import { passOver, type User } from './user.js';
import { documentOf, plainIdsFrom } from './values.js';

/** Makes the collections that the stage chooses, and loads them. */
export async function prepareSource(stage: Stage, user: User): Promise<void> {
  await user.command('admin', { enableSharding: database });
  for (const collection of sourceCollections) {
    if (stage.collections.includes(collection.name)) await make(collection, stage, user);
  }
  for (const series of historySeries) {
    if (stage.series.includes(series.name)) await placeSeries(series, database, user);
  }
  for (const view of views) await user.command(database, view);
}

async function make(collection: SourceCollection, stage: Stage, user: User): Promise<void> {
  const { name, key, options, indexes } = collection;
  await user.command(database, { create: name, ...options });
  if (key !== null) await user.command('admin', { shardCollection: `${database}.${name}`, key });
  if (key !== null) await cut(collection, stage, user);
  if (indexes.length > 0) await user.command(database, { createIndexes: name, indexes });
  for (let n = 0; n < stage.loaded; n += 1) {
    const document = documentOf(plainIdsFrom + 3 * n, n % 11, 7 * n + 1);
    await user.command(database, { insert: name, documents: [document] }).catch(passOver);
  }
}

/** Chunks one after the other on all shards, so that changes of the key go from shard to shard. */
async function cut({ name, key, cuts }: SourceCollection, { sourceShards }: Stage, user: User): Promise<void> {
  const [field = ''] = Object.keys(key ?? {});
  for (const [index, at] of cuts.entries()) {
    const bound = middle(key ?? {}, field, at);
    await user.command('admin', { split: `${database}.${name}`, middle: bound });
    const to = `shard${(index + 1) % sourceShards}`;
    await user
      .command('admin', { moveChunk: `${database}.${name}`, bounds: [bound, nextBound(key ?? {})], to })
      .catch(passOver);
  }
}

function middle(key: Document, field: string, at: unknown): Document {
  return Object.fromEntries(Object.keys(key).map((name) => [name, name === field ? at : new MinKey()]));
}

function nextBound(key: Document): Document {
  return Object.fromEntries(Object.keys(key).map((name) => [name, new MaxKey()]));
}
