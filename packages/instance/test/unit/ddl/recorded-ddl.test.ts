import { readFileSync } from 'node:fs';
import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { DdlLedger } from '../../../src/ddl/ddl-ledger.js';
import { type DdlEvent, parseDdlEvent } from '../../../src/ddl/ddl-watcher.js';
import { DdlTracker } from '../../../src/ddl/ddl-tracker.js';
import type { DdlEntry, NewDdlEntry } from '../../../src/store/ddl-journal.js';
import { never } from '../model/parts.js';
import { chunkOf, keyPattern } from '../catalog/as-read.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const dataOperations = new Set(['insert', 'update', 'replace', 'delete']);

/** DDL events that a stream of a real server showed, in order. */
function recordedEvents(file: string, on: string, cursorOfStep: number): DdlEvent[] {
  const lines = readFileSync(new URL(`../../../../simulator/corpus/${file}`, import.meta.url), 'utf8')
    .trim()
    .split('\n');
  const steps = lines.map((line) => BSON.EJSON.parse(line) as Document);
  const batches = steps.filter(
    (step) =>
      step.on === on && (step.command as { getMore?: Document } | undefined)?.getMore?.cursorOfStep === cursorOfStep,
  );
  const events = batches.flatMap(
    (step) => ((step.reply as Document | undefined)?.cursor as { nextBatch?: Document[] } | undefined)?.nextBatch ?? [],
  );
  return events
    .filter((event) => !dataOperations.has(String(event.operationType)))
    .map((event) => parseDdlEvent(BSON.serialize(event)));
}

function entryOf(database: string, name: string, uuid: string, shards: number): CatalogEntry {
  const chunks = Array.from({ length: shards }, (_, index) => chunkOf({ k: index }, { k: index + 1 }, `shard${index}`));
  const sharding = shards === 0 ? null : { key: keyPattern({ k: 'hashed' }), unique: false, chunks, everMoved: false };
  return {
    database,
    name,
    type: 'collection',
    uuid,
    options: {},
    indexes: [],
    sharding,
    primaryShard: 'shard0',
    sizeBytes: 0,
    documentCount: 0,
  };
}

/** The journal that the events lead to, each entry as a few words; every entry is applied at once. */
async function journalOf(events: readonly DdlEvent[], atStart: CatalogEntry[]): Promise<string[]> {
  const entries: string[] = [];
  const append = (_epoch: number, ordinal: number, found: NewDdlEntry): Promise<DdlEntry> => {
    const { operation, database, name, to, droppedUuid } = found;
    entries.push(
      [
        operation,
        `${database}.${name}`,
        ...(to === null ? [] : [`to ${to.name}`]),
        ...(droppedUuid === null ? [] : ['over another']),
      ].join(' '),
    );
    return Promise.resolve({ ...found, ordinal, state: 'undone', entry: null });
  };
  const ledger = new DdlLedger({ append, finish: () => Promise.resolve() }, 1, atStart, []);
  const filter = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
  const tracker = new DdlTracker({
    ledger,
    filter,
    remap: noRemap,
    showsEachCopy: true,
    keepsBalancer: false,
    shardsReplicaSet: false,
    clock: { monotonic_ms: () => 0 },
    source: {
      hasLeft: () => Promise.reject(new Error('every copy is there')),
      timeAboveAll: () => Promise.reject(new Error('every copy is there')),
      isUnsharded: () => Promise.reject(new Error('nothing is resharded')),
    },
    onTrigger: () => undefined,
  });
  for (const event of events) {
    await tracker.take(event, never);
    for (let next = ledger.next; next !== undefined; next = ledger.next) {
      const before = ledger.collections.get(next.uuid);
      const made =
        next.operation === 'drop'
          ? null
          : {
              ...(before ?? entryOf(next.database, next.name, next.uuid, 0)),
              ...(next.to ?? { database: next.database, name: next.name }),
            };
      await ledger.finish(made, never);
    }
  }
  expect(tracker.firstIncomplete).toBeNull();
  return entries;
}

const uuid = {
  d1: '5f3fadb0e5724de6a8c2e21712e4b0fe',
  ds: '47e256a871bf4f05b64cdc74758bd6f4',
  c1: 'd0f9e0ca8e7e405d8d95e5764d9430c1',
  c2: 'acbd93a221614055bebfa9ab0dafaa76',
};

describe('the recorded DDL changes of a cluster', () => {
  const atStart = [
    entryOf('appdb', 'd1', uuid.d1, 0),
    entryOf('appdb', 'ds', uuid.ds, 2),
    entryOf('appdb', 'd3', 'd3'.repeat(16), 0),
    entryOf('appdb', 'implicit', '1c'.repeat(16), 0),
    entryOf('tmpdb', 'c1', uuid.c1, 0),
    entryOf('tmpdb', 'c2', uuid.c2, 0),
  ];
  const expected = [
    'rename appdb.d1 to d2',
    'rename appdb.ds to ds2',
    'rename appdb.d2 to d3 over another',
    'create appdb.implicit over another',
    'drop appdb.implicit',
    'drop appdb.ds2',
    'create appdb.outcoll',
    'drop tmpdb.c2',
    'drop tmpdb.c1',
  ];

  it.each([1, 4])('are one entry each, through the router (cursor of step %i)', async (step) => {
    expect(await journalOf(recordedEvents('05-events-ddl.jsonl', 'router', step), atStart)).toEqual(expected);
  });

  it('are the same entries when the stream is read twice', async () => {
    const events = recordedEvents('05-events-ddl.jsonl', 'router', 1);
    expect(await journalOf([...events, ...events], atStart)).toEqual(expected);
  });
});

it('recorded DDL of a replica set: a rename into another database is a new collection and a drop', async () => {
  const lines = readFileSync(new URL('../../../../simulator/corpus/14-replica-set.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  const opened = lines.map((line) => BSON.EJSON.parse(line) as Document).find((step) => step.step === 31);
  const { cursorOfStep } = (opened?.command as { getMore: { cursorOfStep: number } }).getMore;
  const events = recordedEvents('14-replica-set.jsonl', String(opened?.on), cursorOfStep);
  const uuidOf = (name: string): string =>
    events.find((event) => event.name === name && event.database === 'moredb')?.uuid ?? '';
  const atStart = [
    entryOf('moredb', 'c', uuidOf('c'), 0),
    entryOf('moredb', 'x', '2c'.repeat(16), 0),
    entryOf('moredb', 'cap', uuidOf('cap'), 0),
  ];
  expect(await journalOf(events, atStart)).toEqual([
    'rename moredb.c to d',
    'create otherdb.d',
    'drop moredb.d',
    'drop otherdb.d',
    'create moredb.x over another',
    'drop moredb.x',
    'drop moredb.cap',
  ]);
});
