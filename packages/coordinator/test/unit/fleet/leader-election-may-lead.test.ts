import { describe, expect, it } from 'vitest';
import { mayLead } from '../../../src/fleet/leader-election.js';
import { type ReportChanges, snapshot } from '../director/snapshots.js';

const failure = { error: 'shardUnknown', errorDescription: 'No such shard.' } as const;
const may = (id: string, instances: Readonly<Record<string, ReportChanges>>): boolean =>
  mayLead(id, snapshot(instances).reports);

describe('mayLead', () => {
  it('allows every instance before the start', () => {
    expect(may('a', {})).toBe(true);
    expect(may('a', { a: {}, b: {} })).toBe(true);
  });

  it('excludes instances that the migration does not need', () => {
    expect(may('extra', { a: { expectedIds: ['a', 'b'] }, extra: {} })).toBe(false);
    expect(may('b', { a: { expectedIds: ['a', 'b'] }, b: {} })).toBe(true);
  });

  it('excludes them while those that name the needed ones are dead: in a large fleet only some do', () => {
    const named = { expectedIds: ['a', 'b'], optionsDigest: 'd', fresh: false };
    expect(may('extra', { a: named, b: { optionsDigest: 'd' }, extra: {} })).toBe(false);
    expect(may('b', { a: named, b: { optionsDigest: 'd' }, extra: {} })).toBe(true);
    expect(may('extra', { a: named, extra: {} })).toBe(true);
  });

  it('excludes an instance that alone has failed', () => {
    expect(may('a', { a: { failure }, b: {} })).toBe(false);
    expect(may('a', { a: { failure }, b: { failure } })).toBe(true);
    expect(may('a', { a: { failure }, b: { fresh: false } })).toBe(true);
  });

  it('excludes an instance that has not reached its clusters while another has', () => {
    const state = 'INITIALIZING';
    expect(may('a', { a: { state }, b: {} })).toBe(false);
    expect(may('a', { a: { state }, b: { state } })).toBe(true);
    expect(may('a', { a: { state }, b: { fresh: false } })).toBe(true);
    expect(may('a', { a: { state }, b: { failure } })).toBe(true);
    expect(may('b', { a: { state }, b: { failure } })).toBe(false);
    expect(may('a', { a: { state, expectedIds: ['a'] }, extra: {} })).toBe(true);
  });
});
