import { expect, it } from 'vitest';
import { clustersOf, outliers, releaseOf } from '../../../src/progress/outliers.js';
import { seenReport } from './snapshots.js';

function reportOf(id: string, release: string, cluster1: string | null) {
  const { report } = seenReport(id, { clusterIds: cluster1 === null ? null : { cluster0: 'x', cluster1 } });
  return { ...report, identity: { ...report.identity, release } };
}

it('takes what most have for usual', () => {
  const reports = [reportOf('a', '1.8.0', null), reportOf('b', '2.0.0', null), reportOf('c', '2.0.0', null)];
  expect(outliers(reports, { id: 'a', syncID: 'a' }, releaseOf)).toEqual({ usual: '2.0.0', ids: ['a'] });
});

it('takes what the leader has where as many have one as the other', () => {
  const reports = [reportOf('a', '1.8.0', null), reportOf('b', '2.0.0', null)];
  expect(outliers(reports, { id: 'b', syncID: 'b' }, releaseOf)).toEqual({ usual: '2.0.0', ids: ['a'] });
  expect(outliers(reports, { id: 'a', syncID: 'a' }, releaseOf)).toEqual({ usual: '1.8.0', ids: ['b'] });
});

it('holds nothing against who does not know yet', () => {
  const reports = [reportOf('a', '1', 'y'), reportOf('b', '1', null), reportOf('c', '1', 'y'), reportOf('d', '1', 'z')];
  expect(outliers(reports, null, clustersOf).ids).toEqual(['d']);
  expect(outliers([reportOf('a', '1', null)], null, clustersOf)).toEqual({ usual: null, ids: [] });
});
