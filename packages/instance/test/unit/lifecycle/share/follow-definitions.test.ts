import { Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Journalled } from '../../../../src/lifecycle/migration/migration-watch.js';
import { type DefinitionSource, DefinitionFollower } from '../../../../src/lifecycle/share/follow-definitions.js';
import type { Definition } from '../../../../src/store/definition-journal.js';
import { Signalled } from '../../../../src/store/signalled.js';
import { never, settled } from '../../model/parts.js';

let news: Journalled;
let changed: Signalled;
let log: string[];
let journalRead: (() => void) | null;
let quiet: (() => void) | null;

/** What a promise waits for until the test lets it go on. */
function gate(set: (open: () => void) => void): Promise<void> {
  return new Promise((resolve) => set(resolve));
}

function definitionOf(ordinal: number): Definition {
  return { ordinal, operation: 'drop', uuid: '0a'.repeat(16), database: 'shop', name: 'orders', to: null, droppedUuid: null, time: new Timestamp(BigInt(ordinal)), state: 'undone', entry: null };
}

const source: DefinitionSource = {
  news: () => news,
  until: (condition, signal) => changed.until(() => condition(news), signal),
  readAfter: async (ordinal, known) => {
    await gate((open) => (journalRead = open));
    return Array.from({ length: known - ordinal }, (_, index) => definitionOf(ordinal + index + 1));
  },
  nudge: () => undefined,
};

beforeEach(() => {
  news = { known: 0, done: 0, horizon: null };
  changed = new Signalled();
  log = [];
  [journalRead, quiet] = [null, null];
});

function follow(): void {
  const definitions = {
    learn: (learned: readonly Definition[]) => void log.push(`learned ${learned.map(({ ordinal }) => ordinal).join()}`),
    quiet: () => gate((open) => (quiet = open)),
    takeOver: ({ ordinal }: Definition) => Promise.resolve(void log.push(`took over ${ordinal}`)),
  };
  const sync = {
    definitions: definitions as never,
    setHorizon: (time: bigint) => void log.push(`horizon ${time}`),
    consent: (ordinal: number) => Promise.resolve(void log.push(`consented ${ordinal}`)),
  };
  void new DefinitionFollower(sync, source, { read: 0, taken: 0, consented: 0 }).run(never).catch(() => undefined);
}

async function hear(more: Partial<Journalled>): Promise<void> {
  news = { ...news, ...more };
  changed.changed();
  await settled();
}

describe('a share', () => {
  it('heeds the entries below a horizon before it routes up to it', async () => {
    follow();
    await hear({ known: 1, horizon: 50n });
    expect(log).toEqual([]);
    journalRead?.();
    await settled();
    expect(log).toEqual(['learned 1', 'horizon 50']);
  });

  it('consents only when nothing is under way of what it has let go of', async () => {
    follow();
    await hear({ known: 2 });
    journalRead?.();
    await settled();
    expect(log).toEqual(['learned 1,2']);
    quiet?.();
    await settled();
    expect(log).toEqual(['learned 1,2', 'consented 2']);
  });

  it('takes results over in their order, once they are done', async () => {
    follow();
    await hear({ known: 2 });
    journalRead?.();
    await hear({ done: 2 });
    journalRead?.();
    await settled();
    expect(log).toEqual(['learned 1,2', 'took over 1', 'took over 2']);
  });
});
