import { Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { type DefinitionStations, ShareDefinitions } from '../../../../src/lifecycle/share/share-definitions.js';
import type { Definition } from '../../../../src/store/definition-journal.js';
import { PartitionTable } from '../../../../src/store/partition-table.js';
import { collectionOf, never, settled } from '../../model/parts.js';

const [orders, target] = ['0a', '0b'].map((byte) => byte.repeat(16)) as [string, string];
let log: string[];
let answers: Map<string, () => void>;
let tables: Map<string, PartitionTable>;
let definitions: ShareDefinitions;

function waiting(station: string): (uuid: string) => Promise<void> {
  return (uuid) => new Promise((resolve) => answers.set(`${station} ${uuid === orders ? 'orders' : 'target'}`, resolve));
}

function noting(what: string): (uuid: string) => void {
  return (uuid) => void log.push(`${what} ${uuid === orders ? 'orders' : 'target'}`);
}

beforeEach(() => {
  log = [];
  tables = new Map();
  answers = new Map();
  const stations = {
    lanes: { setAside: noting('lanes set aside'), takeUp: noting('lanes take up'), forget: noting('lanes forget'), answered: waiting('lanes') },
    copier: { remove: () => undefined, letGo: noting('copier lets go of'), takeUp: noting('copier takes up'), quiet: waiting('copier') },
    repairer: { letGo: noting('repairer lets go of'), quiet: waiting('repairer') },
    followed: { rename: () => undefined, know: () => undefined, remove: () => undefined, shareOf: () => ({ copy: orders }), tables },
    repairs: { forget: () => Promise.resolve() },
    storage: { forgetCopy: noting('storage forgets') },
    unknown: { resolve: () => undefined },
    begin: () => Promise.resolve(),
  };
  definitions = new ShareDefinitions(stations as unknown as DefinitionStations);
});

function rename(droppedUuid: string | null = null): Definition {
  return { ordinal: 1, operation: 'rename', uuid: orders, database: 'shop', name: 'orders', to: { database: 'shop', name: 'new' }, droppedUuid, time: new Timestamp(20n), state: 'undone', entry: null };
}

function drop(): Definition {
  return { ordinal: 1, operation: 'drop', uuid: orders, database: 'shop', name: 'orders', to: null, droppedUuid: null, time: new Timestamp(20n), state: 'done', entry: null };
}

describe('what an undone change is about', () => {
  it('is let go of by lanes, copier and repairer in the moment in which the share learns of it', () => {
    definitions.learn([rename(target)]);
    const letGo = ['copier lets go of', 'lanes set aside', 'repairer lets go of'].flatMap((what) => [`${what} orders`, `${what} target`]);
    expect(log.sort()).toEqual(letGo);
    expect([definitions.hasLetGo(orders), definitions.hasLetGo(target), definitions.doneUpTo(19n), definitions.doneUpTo(20n)]).toEqual([true, true, true, false]);
  });

  it('is quiet once copies, waves and repairs of it are answered', async () => {
    definitions.learn([rename()]);
    let isQuiet = false;
    void definitions.quiet(never).then(() => (isQuiet = true));
    for (const station of ['copier', 'lanes', 'repairer']) {
      await settled();
      expect(isQuiet).toBe(false);
      expect([...answers.keys()]).toContain(`${station} orders`);
      answers.get(`${station} orders`)?.();
    }
    await settled();
    expect(isQuiet).toBe(true);
  });
});

describe('a drop that is taken over', () => {
  it('forgets the stored partitions only after a save of them that is under way', async () => {
    let answer = (): void => undefined;
    const table = PartitionTable.fresh(collectionOf({}), [], async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      log.push('partitions saved');
    });
    tables.set(orders, table);
    const saving = table.persist();
    const done = definitions.takeOver(drop(), never);
    await settled();
    expect(log).not.toContain('storage forgets orders');
    answer();
    await Promise.all([saving, done]);
    expect(log.filter((entry) => entry.includes('saved') || entry.includes('storage'))).toEqual(['partitions saved', 'storage forgets orders']);
  });
});
