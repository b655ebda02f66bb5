import { inventoryKinds } from '@convoy/api/contract/inventory';
import { carriedKinds } from '@convoy/api/contract/carry';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readText, trackedFiles } from '../source-tree.js';

const peers = ['mongosync', 'Percona ClusterSync', 'MongoShake', 'dsync'];

/** Rows of the one table, each as its cells: the feature, four peers, Convoy, how it was tried. */
const [header = [], ...rows] = readText('docs/guide/features.md')
  .split('\n')
  .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

/** The names in the last parentheses of a feature: fields of a start, kinds of the inventory, commands. */
function namesOf(feature: string): string[] {
  const [, inside = ''] = /\(([^()]*)\)$/.exec(feature) ?? [];
  return [...inside.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

describe('docs/guide/features.md', () => {
  test('has each kind of the inventory in one row, beside the peers and with its test', () => {
    expect(header.slice(1, 5)).toEqual(peers);
    const known = new Set<string>(inventoryKinds);
    const named = rows.flatMap(([feature = '']) => namesOf(feature).filter((name) => known.has(name)));
    expect(named.sort()).toEqual([...inventoryKinds].sort());
    for (const row of rows.filter(([feature = '']) => namesOf(feature).some((name) => known.has(name)))) {
      expect(row).toHaveLength(header.length);
      expect(row.filter((cell) => cell === '')).toEqual([]);
      expect(row.at(-1), row[0]).toMatch(/\.test\.ts`/);
    }
  });

  test('says of what a commit can take along that Convoy has it, and of nothing else in the inventory but data', () => {
    const convoys = (name: string): string => rows.find(([feature = '']) => namesOf(feature).includes(name))?.[5] ?? '';
    const ofUsers = ['users', 'roles'];
    for (const kind of carriedKinds.flatMap((each) => (each === 'usersAndRoles' ? ofUsers : [each])))
      expect(convoys(kind), kind).toMatch(/^yes/);
    for (const kind of ['ownCollections', 'balancer', 'chunkSize', 'autoMerger', 'profiler', 'primaries'])
      expect(convoys(kind), kind).toMatch(/^listed/);
  });

  test('names tests that exist', () => {
    const files = new Set(trackedFiles().map((path) => basename(path)));
    const named = rows.flatMap((row) => [...(row.at(-1) ?? '').matchAll(/`(?:\w+\/)?([\w.-]+\.test\.ts)`/g)]);
    expect(named.map(([, name = '']) => name).filter((name) => !files.has(name))).toEqual([]);
  });
});
