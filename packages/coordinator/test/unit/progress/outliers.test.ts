import { expect, it } from 'vitest';
import { clustersOf, outliers, releaseOf } from '../../../src/progress/outliers.js';
import { seenReport } from './snapshots.js';

function reportOf(id: string, release: string, cluster1: string | null) {
  const { report } = seenReport(id, { clusterIds: cluster1 === null ? null : { cluster0: 'x', cluster1 } });
  return { ...report, identity: { ...report.identity, release } };
}

it('uses the most common value', () => {
  const reports = [reportOf('a', '1.8.0', null), reportOf('b', '2.0.0', null), reportOf('c', '2.0.0', null)];
  expect(outliers(reports, { id: 'a', syncID: 'a' }, releaseOf)).toEqual({ usual: '2.0.0', ids: ['a'] });
});

it("uses the leader's value in a tie", () => {
  const reports = [reportOf('a', '1.8.0', null), reportOf('b', '2.0.0', null)];
  expect(outliers(reports, { id: 'b', syncID: 'b' }, releaseOf)).toEqual({ usual: '2.0.0', ids: ['a'] });
  expect(outliers(reports, { id: 'a', syncID: 'a' }, releaseOf)).toEqual({ usual: '1.8.0', ids: ['b'] });
});

it('ignores unknown values', () => {
  const reports = [reportOf('a', '1', 'y'), reportOf('b', '1', null), reportOf('c', '1', 'y'), reportOf('d', '1', 'z')];
  expect(outliers(reports, null, clustersOf).ids).toEqual(['d']);
  expect(outliers([reportOf('a', '1', null)], null, clustersOf)).toEqual({ usual: null, ids: [] });
});
