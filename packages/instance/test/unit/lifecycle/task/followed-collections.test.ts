import { describe, expect, it } from 'vitest';
import { storedEntry } from '../../../../src/catalog/catalog-bytes.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import { followedCatalog, resultOf } from '../../../../src/lifecycle/task/followed-collections.js';
import type { DdlEntry } from '../../../../src/store/ddl-journal.js';
import { entryOf } from '../../model/task-view.js';

const [orders, items, notes] = ['aa', 'bb', 'cc'].map((digits) => digits.repeat(16)) as [string, string, string];
const ordersEntry = entryOf({ uuid: orders, name: 'orders' }, []);
const started = [ordersEntry, entryOf({ uuid: items, name: 'items' }, [])];

function ddlChangeOf(changes: Partial<DdlEntry>, result: string | null = null): DdlEntry {
  const uuid = changes.uuid ?? orders;
  const entry = result === null ? null : storedEntry(entryOf({ uuid, name: result }, []));
  return {
    ordinal: 1,
    operation: 'drop',
    uuid,
    database: 'shop',
    name: 'orders',
    to: null,
    droppedUuid: null,
    time: timestampOf(50n),
    state: 'done',
    entry,
    ...changes,
  };
}

function namesAfter(...ddlChanges: DdlEntry[]) {
  return followedCatalog(started, ddlChanges).entries.map(({ entry, copy, notBefore }) => [
    entry.name,
    copy,
    notBefore,
  ]);
}

describe('the followed catalog', () => {
  it('is the initial one when nothing has changed', () => {
    expect(namesAfter()).toEqual([
      ['orders', orders, 0n],
      ['items', items, 0n],
    ]);
  });

  it('loses what was dropped, which stays known', () => {
    const { entries, known } = followedCatalog(started, [ddlChangeOf({})]);
    expect(entries.map(({ entry }) => entry.uuid)).toEqual([items]);
    expect([...known].sort()).toEqual([orders, items]);
  });

  it('keeps the copy of a renamed collection, which is read at no earlier time, and loses its target', () => {
    const renamed = ddlChangeOf(
      { operation: 'rename', to: { database: 'shop', name: 'items' }, droppedUuid: items },
      'items',
    );
    expect(namesAfter(renamed)).toEqual([['items', orders, 50n]]);
  });

  it('keeps what it knew of a renamed collection, its task bounds included', () => {
    const divided = { ...ordersEntry, taskBounds: ordersEntry.taskBounds ?? [], sizeBytes: 7 };
    const { entries } = followedCatalog(
      [divided],
      [ddlChangeOf({ operation: 'rename', to: { database: 'shop', name: 'old' } }, 'old')],
    );
    expect(entries[0]?.entry).toEqual({ ...divided, name: 'old' });
  });

  it('has exchanged names after renames through a third', () => {
    const rename = (ordinal: number, uuid: string, name: string) =>
      ddlChangeOf({ ordinal, uuid, operation: 'rename', to: { database: 'shop', name } }, name);
    expect(
      namesAfter(rename(1, orders, 'x'), rename(2, items, 'orders'), rename(3, orders, 'items')).map(([name, copy]) => [
        name,
        copy,
      ]),
    ).toEqual([
      ['items', orders],
      ['orders', items],
    ]);
  });

  it('copies new and recreated collections under another name than before', () => {
    const created = ddlChangeOf({ ordinal: 4, operation: 'create', uuid: notes, name: 'notes' }, 'notes');
    const restarted = ddlChangeOf({ ordinal: 5, operation: 'restart', uuid: items, name: 'items' }, 'items');
    expect(namesAfter(created, restarted).map(([name, copy]) => [name, copy])).toEqual([
      ['orders', orders],
      ['notes', `${notes}.4`],
      ['items', `${items}.5`],
    ]);
  });

  it('ends collections whose entry has no result', () => {
    expect(resultOf(ddlChangeOf({ operation: 'restart', droppedUuid: items }))).toEqual({
      ended: [items, orders],
      started: null,
      renamed: null,
    });
  });
});
