import { describe, expect, it } from 'vitest';
import { membersOf } from '../../../src/progress/members.js';
import { snapshot } from './snapshots.js';

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
