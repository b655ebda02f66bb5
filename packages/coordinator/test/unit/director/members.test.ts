import { describe, expect, it } from 'vitest';
import { clustersOf, membersOf, outliers, releaseOf } from '../../../src/director/members.js';
import { seenReport, snapshot } from './snapshots.js';

const ids = (of: Parameters<typeof snapshot>[0]): string[] =>
  membersOf(snapshot(of)).seen.map(({ report }) => report.identity.id);
const left = { fresh: false, silent_ms: Number.POSITIVE_INFINITY };

describe('membersOf', () => {
  it('before the start counts live and recently silent instances', () => {
    expect(
      ids({
        b: {},
        a: {},
        silent: { fresh: false, silent_ms: 20_000 },
        gone: { fresh: false, silent_ms: 700_000 },
        left,
      }),
    ).toEqual(['a', 'b', 'silent']);
  });

  it('after the start counts live expected instances and missing ones', () => {
    const expectedIds = ['a', 'b', 'c'];
    const members = membersOf(snapshot({ a: { expectedIds }, b: left, old: { fresh: false, silent_ms: 20_000 } }));
    expect(members.registeredIds).toEqual(['a', 'b']);
    expect(members.missingIds).toEqual(['c']);
  });

  it('trusts live instances about the expected ids', () => {
    expect(
      membersOf(snapshot({ a: { expectedIds: ['a'] }, old: { ...left, expectedIds: ['old', 'older'] } })).expectedIds,
    ).toEqual(['a']);
    expect(membersOf(snapshot({ old: { ...left, expectedIds: ['old', 'older'] } })).missingIds).toEqual(['older']);
  });

  it('names live unexpected instances, and never counts them', () => {
    const members = membersOf(snapshot({ a: { expectedIds: ['a', 'b'] }, b: {}, extra: {}, gone: left }));
    expect(members.unexpectedIds).toEqual(['extra']);
    expect(members.registeredIds).toEqual(['a', 'b']);
  });

  it('uses the last known reports when all have left, but registers none', () => {
    const members = membersOf(snapshot({ a: left, b: left }));
    expect(members.reports).toHaveLength(2);
    expect(members.registeredIds).toEqual([]);
  });
});

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
