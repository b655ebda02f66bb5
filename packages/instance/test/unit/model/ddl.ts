import fc from 'fast-check';
import { ddlEventOf } from './change-events.js';
import type { ShownDdlChange } from './source-catalog.js';
import type { SourceHistory } from './source-history.js';
import { type Change, carryOut, type Step, stepsOn } from './workload.js';

/** Names of the model's collections; the first is the one that is there from the beginning. */
export const modelNames = ['orders', 'items', 'notes'];
const swapName = 'swapped';

/**
 * A change of the set of collections. `swap`: two collections exchange their names through a third. `recreate`: dropped
 * and created again. `replace`: another collection is filled under a third name, then renamed over the target.
 */
export interface DdlStep {
  ddlChange: 'drop' | 'rename' | 'swap' | 'recreate' | 'replace' | 'shard';
  name: string;
  to: string;
}

const names = fc.constantFrom(...modelNames);

/** Changes of documents in several collections, among them some of the collections. */
export const stepsWithDdl: fc.Arbitrary<Step | DdlStep> = fc.oneof(
  { weight: 6, arbitrary: stepsOn(names) },
  {
    weight: 1,
    arbitrary: fc.record({
      ddlChange: fc.constantFrom<DdlStep['ddlChange'][]>(
        'drop',
        'rename',
        'rename',
        'swap',
        'recreate',
        'replace',
        'shard',
      ),
      name: names,
      to: names,
    }),
  },
);

/** Changes of documents in several collections. */
export const stepsOfCollections: fc.Arbitrary<Step> = stepsOn(names);

/** Carries out a step of either kind. */
export function carryOutStep(source: SourceHistory, step: Step | DdlStep): void {
  if ('ddlChange' in step) define(source, step);
  else carryOut(source, step);
}

function define(source: SourceHistory, { ddlChange, name, to }: DdlStep): void {
  if (ddlChange === 'rename') rename(source, name, to);
  else if (ddlChange === 'swap') swap(source, name, to);
  else if (ddlChange === 'shard') shard(source, name);
  else if (ddlChange === 'replace') replace(source, name);
  else {
    drop(source, name);
    if (ddlChange === 'recreate')
      carryOut(source, { changes: [{ ...anyInsert, collection: name }], transaction: 'none' });
  }
}

const anyInsert: Change = { kind: 'set', id: 0, fields: [[0, 1]], sk: 1 };

function drop(source: SourceHistory, name: string): void {
  const uuid = source.catalog.at(name);
  if (uuid === null) return;
  source.catalog.set(uuid, null, show(source, { operation: 'drop', uuid, name, to: null }));
}

/** What has the new name is dropped by it, without a change of its own. */
function rename(source: SourceHistory, name: string, to: string): void {
  const { catalog } = source;
  const [uuid, target] = [catalog.at(name), catalog.at(to)];
  if (uuid === null || name === to) return;
  const time = show(source, { operation: 'rename', uuid, name, to });
  if (target !== null) catalog.set(target, null, time);
  catalog.set(uuid, to, time);
}

function swap(source: SourceHistory, name: string, to: string): void {
  rename(source, name, swapName);
  rename(source, to, name);
  rename(source, swapName, to);
}

function replace(source: SourceHistory, name: string): void {
  carryOut(source, { changes: [{ ...anyInsert, collection: swapName }], transaction: 'none' });
  rename(source, swapName, name);
}

/**
 * The collection keeps its UUID and its documents; on the destination it has to be recreated. A collection that was not
 * sharded has one copy, so none of its changes is incomplete, which the model cannot say where one copy stands for all.
 */
function shard(source: SourceHistory, name: string): void {
  const uuid = source.catalog.at(name);
  if (uuid !== null && source.catalog.showsEachCopy)
    source.catalog.shown.push({
      operation: 'shardCollection',
      uuid,
      name,
      to: null,
      time: source.note(source.shardOf(-1)),
    });
}

/**
 * Every shard carries the change out at a time of its own. From 7.0 on the database's primary shows its copy alone, and
 * drops after the others. Returns the last time.
 */
function show(source: SourceHistory, shown: Omit<ShownDdlChange, 'time'>): bigint {
  const { catalog, shards } = source;
  const primary = shown.operation === 'drop' ? shards.at(-1) : shards[Number(source.now) % shards.length];
  for (const each of shards) {
    const time = source.tick();
    const isShown = catalog.showsEachCopy || each === primary;
    each.oplog.push({ time, event: isShown ? ddlEventOf(shown.operation, time, shown) : null });
    if (isShown) catalog.shown.push({ ...shown, time });
  }
  return source.now;
}
