import { beforeEach, describe, expect, it } from 'vitest';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { creationOf, DdlLedger } from '../../../src/ddl/ddl-ledger.js';
import { arrivedOf, takeUnknown } from '../../../src/ddl/unknown-collections.js';
import type { DdlEntry, NewDdlEntry } from '../../../src/store/ddl-journal.js';
import { never } from '../model/parts.js';
import { entryOf } from '../model/task-view.js';

const filter = compileNamespaceFilter({
  includeNamespaces: [{ database: 'shop' }],
  excludeNamespaces: [{ database: 'shop', collections: ['hidden'] }],
});
const [orders, built, later] = ['0a', '0b', '0c'].map((byte) => byte.repeat(16)) as [string, string, string];
const time = 50n;
let entries: DdlEntry[];
let ledger: DdlLedger;
/** What the source's catalog shows. */
let present: Map<string, string>;
/** What becomes known during the wait. */
let meanwhile: () => Promise<void> | void;

beforeEach(() => {
  entries = [];
  present = new Map([
    [orders, 'orders'],
    [built, 'orders_new'],
  ]);
  meanwhile = () => undefined;
  const append = (_epoch: number, ordinal: number, found: NewDdlEntry): Promise<DdlEntry> => {
    const ddlChange: DdlEntry = { ...found, ordinal, state: 'undone', entry: null };
    entries.push(ddlChange);
    return Promise.resolve(ddlChange);
  };
  const finish = () => Promise.reject(new Error('nothing is applied'));
  ledger = new DdlLedger({ append, finish }, 1, [entryOf({ uuid: orders, name: 'orders' }, [])], []);
});

async function take(uuid = built, name = 'orders_new'): Promise<unknown[]> {
  const deps = {
    ledger,
    filter,
    source: { namesOf: () => Promise.resolve(new Map(present)), timeAboveAll: () => Promise.resolve(time) },
    watcher: { untilKnown: async () => meanwhile() },
    add: (...[judge, signal]: Parameters<DdlLedger['add']>) => ledger.add(judge, signal),
  };
  await takeUnknown(deps, [{ uuid, database: 'shop', name }], never);
  return entries.map((entry) => [entry.operation, entry.uuid, entry.name, entry.droppedUuid, entry.time.toBigInt()]);
}

describe('an unknown collection', () => {
  it('is added under a name that it had before a time and has once all changes up to it are known', async () => {
    expect(await take()).toEqual([['create', built, 'orders_new', null, time]]);
  });

  it('is added under its current name if it was renamed since it was seen', async () => {
    present.set(built, 'orders_2');
    expect(await take()).toEqual([['create', built, 'orders_2', null, time]]);
  });

  it('waits until the stream shows a rename up to the time, which then determines the entry', async () => {
    meanwhile = () =>
      ledger.add(
        (followed) => creationOf(followed, { uuid: built, database: 'shop', name: 'orders' }, timestampOf(40n)),
        never,
      );
    expect(await take()).toEqual([['create', built, 'orders', orders, 40n]]);
  });

  it('is checked again if it was renamed in the meantime: its entry would include an unread rename', async () => {
    meanwhile = () => void present.set(built, 'orders');
    expect(await take()).toEqual([]);
    meanwhile = () => undefined;
    expect(await take()).toEqual([['create', built, 'orders', orders, time]]);
  });

  it('counts as dropped if it is gone, and takes no name from its current holder', async () => {
    present.delete(built);
    expect(await take(built, 'orders')).toEqual([['drop', built, 'orders', null, time]]);
  });

  it('counts as dropped outside of the filter', async () => {
    present.set(built, 'hidden');
    expect(await take()).toEqual([['drop', built, 'hidden', null, time]]);
  });

  it('takes no name from a collection that got it after the time', async () => {
    meanwhile = () =>
      ledger.add(
        (followed) => creationOf(followed, { uuid: later, database: 'shop', name: 'orders_new' }, timestampOf(60n)),
        never,
      );
    expect(await take()).toEqual([['create', later, 'orders_new', null, 60n]]);
  });
});

it('a pending collection has arrived once the catalog shows it, until it is added', async () => {
  const deps = {
    ledger,
    source: { namesOf: () => Promise.resolve(new Map(present)), timeAboveAll: () => Promise.resolve(time) },
  };
  const arriving = [{ uuid: later, database: 'shop', name: 'orders' }];
  expect(await arrivedOf(deps, arriving, never)).toEqual([]);
  present.set(later, 'orders');
  expect(await arrivedOf(deps, arriving, never)).toEqual(arriving);
  expect(await take(later, 'orders')).toEqual([['create', later, 'orders', orders, time]]);
  expect(await arrivedOf(deps, arriving, never)).toEqual([]);
});
