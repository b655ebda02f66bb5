import { expect, it } from 'vitest';
import { blockedBy } from '@convoy/api/contract/commit-blocker';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { makeIdentity } from '../../../../api/test/unit/fleet/fleet-behaviour.js';
import { standingOf } from '../../../src/fleet/report-message.js';

const report = idleReport(makeIdentity('a'));
const { progress } = report;
const lag = (value: number) => ({ instance: 'a', ...blockedBy('lag', `changes are ${value} s behind`, { value }) });

it.each([
  ['counters', { progress: { ...progress, totalEventsApplied: 9, lagTimeSeconds: 3 } }],
  ['rates', { rates: { copyBytesPerSecond: 7, eventsPerSecond: 7 } }],
  ['the remaining oplog', { oplogRemaining_seconds: 60 }],
])('does not change with %s', (_what, change) => {
  expect(standingOf({ ...report, ...change })).toBe(standingOf(report));
});

it.each([
  ['the process', { identity: makeIdentity('a') }],
  ['the state', { state: 'RUNNING' as const }],
  ['a failure', { failure: { error: 'verificationFailed' as const, errorDescription: '' } }],
  ['readiness', { ready: { canCommit: true, canWrite: false } }],
  ['the clusters', { clusterIds: { cluster0: '1', cluster1: '2' } }],
  ['the options', { optionsDigest: 'digest' }],
  ['the ids that the source needs', { expectedIds: ['a'] }],
  ['a refusal', { refused: { command: 'start' as const, error: 'wrongCluster' as const, errorDescription: '' } }],
  ['the phase', { progress: { ...progress, info: 'collection copy' } }],
  ['a warning', { progress: { ...progress, warnings: [{ name: 'retrying', description: '' }] } }],
  ['a reason that blocks a commit', { progress: { ...progress, commitBlockers: [lag(20)] } }],
])('changes with %s', (_what, change) => {
  expect(standingOf({ ...report, ...change })).not.toBe(standingOf(report));
});

it('does not change with the value of a reason', () => {
  const blockedFor = (value: number) =>
    standingOf({ ...report, progress: { ...progress, commitBlockers: [lag(value)] } });
  expect(blockedFor(20)).toBe(blockedFor(21));
});
