import { Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import type { TaskCollection } from '../../../../src/lifecycle/task/task-collections.js';
import { type DdlStages, TaskDdl, UndoneEntries } from '../../../../src/lifecycle/task/task-ddl.js';
import type { DdlEntry } from '../../../../src/store/ddl-journal.js';
import { PartitionTable } from '../../../../src/store/partition-table.js';
import { collectionOf, never, settled } from '../../model/parts.js';
import type { ApplyWorkers } from '../../../../src/apply/apply-workers.js';
import type { EventDispatcher } from '../../../../src/apply/event-dispatcher.js';
import type { CopyPlans } from '../../../../src/lifecycle/task/copy-plans.js';
import type { Copier } from '../../../../src/copy/copier.js';
import type { Rereader } from '../../../../src/reread/rereader.js';
import type { TaskTables } from '../../../../src/lifecycle/task/followed-collections.js';
import type { RereadSet } from '../../../../src/store/reread-set.js';
import type { TaskStorage } from '../../../../src/store/task-storage.js';
import type { UnknownCollections } from '../../../../src/lifecycle/task/apply-stage.js';

const [orders, target] = ['0a', '0b'].map((byte) => byte.repeat(16)) as [string, string];
let log: string[];
let answers: Map<string, () => void>;
let tables: Map<string, PartitionTable>;
let undone: UndoneEntries;
let ddlChanges: TaskDdl;

function waiting(stage: string): (uuid: string) => Promise<void> {
  return (uuid) => new Promise((resolve) => answers.set(`${stage} ${uuid === orders ? 'orders' : 'target'}`, resolve));
}

function noting(what: string): (uuid: string) => void {
  return (uuid) => void log.push(`${what} ${uuid === orders ? 'orders' : 'target'}`);
}

beforeEach(() => {
  log = [];
  tables = new Map();
  answers = new Map();
  undone = new UndoneEntries();
  const stages: DdlStages = {
    applyWorkers: only<ApplyWorkers>({
      park: noting('apply workers park'),
      resume: noting('apply workers resume'),
      forget: noting('apply workers forget'),
      answered: waiting('applyWorkers'),
    }),
    copier: only<Copier>({
      remove: () => undefined,
      suspend: noting('copier suspends'),
      resume: noting('copier resumes'),
      quiet: waiting('copier'),
    }),
    rereader: only<Rereader>({ suspend: noting('rereader suspends'), quiet: waiting('rereader') }),
    followed: only<TaskTables>({
      rename: () => undefined,
      know: () => undefined,
      remove: () => undefined,
      taskOf: () => only<TaskCollection>({ copy: orders }),
      tables,
    }),
    rereads: only<RereadSet>({ forget: () => Promise.resolve() }),
    storage: only<TaskStorage>({
      forgetCopy: (copy) => {
        noting('storage forgets')(copy);
        return Promise.resolve();
      },
    }),
    unknown: only<UnknownCollections>({ resolve: () => undefined }),
    undone,
    plans: only<CopyPlans>({ taskOf: () => null }),
    dispatcher: only<EventDispatcher>({}),
  };
  ddlChanges = new TaskDdl(stages);
});

function rename(droppedUuid: string | null = null): DdlEntry {
  return {
    ordinal: 1,
    operation: 'rename',
    uuid: orders,
    database: 'shop',
    name: 'orders',
    to: { database: 'shop', name: 'new' },
    droppedUuid,
    time: new Timestamp(20n),
    state: 'undone',
    entry: null,
  };
}

function drop(): DdlEntry {
  return {
    ordinal: 1,
    operation: 'drop',
    uuid: orders,
    database: 'shop',
    name: 'orders',
    to: null,
    droppedUuid: null,
    time: new Timestamp(20n),
    state: 'done',
    entry: null,
  };
}

describe('the collections of an undone change', () => {
  it('are suspended by apply workers, copier and rereader as soon as the task learns of it', () => {
    ddlChanges.learn([rename(target)]);
    const suspend = ['apply workers park', 'copier suspends', 'rereader suspends'].flatMap((what) => [
      `${what} orders`,
      `${what} target`,
    ]);
    expect(log.sort()).toEqual(suspend);
    expect([
      undone.isSuspended(orders),
      undone.isSuspended(target),
      undone.doneUpTo(19n),
      undone.doneUpTo(20n),
    ]).toEqual([true, true, true, false]);
  });

  it('are quiet once copies, write batches and re-reads of them are answered', async () => {
    ddlChanges.learn([rename()]);
    let isQuiet = false;
    void ddlChanges.quiet(never).then(() => (isQuiet = true));
    for (const stage of ['copier', 'applyWorkers', 'rereader']) {
      await settled();
      expect(isQuiet).toBe(false);
      expect([...answers.keys()]).toContain(`${stage} orders`);
      answers.get(`${stage} orders`)?.();
    }
    await settled();
    expect(isQuiet).toBe(true);
  });
});

describe('adopting a drop', () => {
  it('deletes the stored partitions only after a save of them that is in flight', async () => {
    let answer = (): void => undefined;
    const table = PartitionTable.fresh(collectionOf({}), [], async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      log.push('partitions saved');
    });
    tables.set(orders, table);
    const saving = table.persist();
    const done = ddlChanges.takeOver(drop(), never);
    await settled();
    expect(log).not.toContain('storage forgets orders');
    answer();
    await Promise.all([saving, done]);
    expect(log.filter((entry) => entry.includes('saved') || entry.includes('storage'))).toEqual([
      'partitions saved',
      'storage forgets orders',
    ]);
  });
});
