import { encodeDocument } from '../../bson/encode.js';
import type { Value } from '../../bson/value.js';
import type { ShardState } from '../shard-state.js';
import type { View } from '../storage/catalog.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';
import { createCollection } from './collection-access.js';

const NOW = { time: LATEST, transaction: null };

/** Stores a new or changed view, also as a document of `system.views`. */
export function storeView(state: ShardState, view: View): void {
  const views = viewsCollection(state, view.namespace);
  const document = new Map<string, Value>([
    ['_id', view.namespace],
    ['viewOn', view.viewOn],
    ['pipeline', view.pipeline],
  ]);
  const collation = view.options.get('collation');
  if (collation !== undefined) document.set('collation', collation);
  const record = views.recordById(view.namespace, NOW);
  const before = record === null ? null : visibleBytes(record, NOW);
  if (record === null || before === null) state.writer.insert(views, encodeDocument(document), null);
  else
    state.writer.update(
      views,
      record,
      before,
      encodeDocument(document),
      { operators: undefined, replacement: true },
      null,
    );
  state.catalog.addView(view);
}

/** Drops a view and its document. */
export function forgetView(state: ShardState, namespace: string): void {
  removeDocument(state, viewsCollection(state, namespace), namespace);
  state.catalog.removeView(namespace);
}

/** The collection of a database's views, created if missing: the server creates it before it checks a view. */
export function viewsCollection(state: ShardState, namespace: string): Collection {
  const name = `${namespace.slice(0, namespace.indexOf('.'))}.system.views`;
  return state.catalog.collection(name) ?? createCollection(state, name, new Map());
}

function removeDocument(state: ShardState, views: Collection, namespace: string): void {
  const record = views.recordById(namespace, NOW);
  const bytes = record === null ? null : visibleBytes(record, NOW);
  if (record !== null && bytes !== null) state.writer.delete(views, record, bytes, null);
}
