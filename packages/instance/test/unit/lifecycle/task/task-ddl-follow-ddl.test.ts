import { Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Journalled } from '../../../../src/store/migration-watch.js';
import { DdlFollower, type DdlSource, type TaskDdl } from '../../../../src/lifecycle/task/task-ddl.js';
import type { DdlEntry } from '../../../../src/store/ddl-journal.js';
import { Condition } from '../../../../src/async/waiting.js';
import { never, settled } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { SyncPipeline } from '../../../../src/lifecycle/task/sync-pipeline.js';

let news: Journalled;
let changed: Condition;
let log: string[];
let journalRead: (() => void) | null;
let quiet: (() => void) | null;

/** A promise that waits until the test resolves it. */
function gate(set: (open: () => void) => void): Promise<void> {
  return new Promise((resolve) => set(resolve));
}

function ddlChangeOf(ordinal: number): DdlEntry {
  return {
    ordinal,
    operation: 'drop',
    uuid: '0a'.repeat(16),
    database: 'shop',
    name: 'orders',
    to: null,
    droppedUuid: null,
    time: new Timestamp(BigInt(ordinal)),
    state: 'undone',
    entry: null,
  };
}

const source: DdlSource = {
  news: () => news,
  until: (condition, signal) => changed.until(() => condition(news), signal),
  readAfter: async (ordinal, known) => {
    await gate((open) => (journalRead = open));
    return Array.from({ length: known - ordinal }, (_, index) => ddlChangeOf(ordinal + index + 1));
  },
  wake: () => undefined,
};

beforeEach(() => {
  news = { known: 0, done: 0, ddlWatermark: null };
  changed = new Condition();
  log = [];
  [journalRead, quiet] = [null, null];
});

function follow(): void {
  const ddlChanges = only<TaskDdl>({
    learn: (learned: readonly DdlEntry[]) => void log.push(`learned ${learned.map(({ ordinal }) => ordinal).join()}`),
    quiet: () => gate((open) => (quiet = open)),
    takeOver: ({ ordinal }: DdlEntry) => Promise.resolve(void log.push(`took over ${ordinal}`)),
  });
  const sync = only<SyncPipeline>({
    ddlChanges,
    setDdlWatermark: (time: bigint) => void log.push(`watermark ${time}`),
    acknowledge: (ordinal: number) => Promise.resolve(void log.push(`acknowledged ${ordinal}`)),
  });
  void new DdlFollower(sync, source, { read: 0, taken: 0, acknowledged: 0 }).run(never).catch(() => undefined);
}

async function hear(more: Partial<Journalled>): Promise<void> {
  news = { ...news, ...more };
  changed.changed();
  await settled();
}

describe('a task', () => {
  it('suspends the collections of entries below a DDL watermark before it dispatches up to it', async () => {
    follow();
    await hear({ known: 1, ddlWatermark: 50n });
    expect(log).toEqual([]);
    journalRead?.();
    await settled();
    expect(log).toEqual(['learned 1', 'watermark 50']);
  });

  it('acknowledges only when nothing of the suspended collections is in flight', async () => {
    follow();
    await hear({ known: 2 });
    journalRead?.();
    await settled();
    expect(log).toEqual(['learned 1,2']);
    quiet?.();
    await settled();
    expect(log).toEqual(['learned 1,2', 'acknowledged 2']);
  });

  it('adopts results in their order, once they are done', async () => {
    follow();
    await hear({ known: 2 });
    journalRead?.();
    await hear({ done: 2 });
    journalRead?.();
    await settled();
    expect(log).toEqual(['learned 1,2', 'took over 1', 'took over 2']);
  });
});
