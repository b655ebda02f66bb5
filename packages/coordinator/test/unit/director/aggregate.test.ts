import { describe, expect, it } from 'vitest';
import { fleetProgressSchema, idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import type { MigrationState, Progress } from '@convoy/api/contract/progress';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import { NOW_MS, type ReportChanges, snapshot } from './snapshots.js';

const progressOf = (
  instances: Readonly<Record<string, ReportChanges>>,
): ReturnType<typeof aggregateProgress>['progress'] => aggregateProgress(snapshot(instances), null).progress;

const verification = (
  phase: 'not started' | 'initial hashing' | 'stream hashing',
  count: number,
): Progress['verification'] => {
  const side = {
    estimatedDocumentCount: count,
    hashedDocumentCount: count,
    lagTimeSeconds: count,
    phase,
    scannedCollectionCount: count,
    totalCollectionCount: count,
  };
  return { source: side, destination: { ...side, hashedDocumentCount: null } };
};

describe('aggregateProgress', () => {
  it('is the contract’s IDLE document while all are idle', () => {
    const { progress, instances } = aggregateProgress(snapshot({ a: { state: 'IDLE' }, b: { state: 'IDLE' } }), null);
    expect(progress).toEqual(idleFleetProgress());
    expect(instances.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('names mixed states, even while the least advanced is idle', () => {
    const idle = progressOf({ a: { state: 'RUNNING' }, b: { state: 'IDLE' } });
    expect(idle).toMatchObject({ state: 'IDLE', canCommit: false, lagTimeSeconds: null, collectionCopy: null });
    expect(idle.warnings).toEqual([
      { name: 'mixedStates', description: 'The instances are in different states (RUNNING: a; IDLE: b).' },
    ]);
    expect(progressOf({ a: { state: 'RUNNING' }, b: { state: 'PAUSED' } }).warnings?.[0]?.name).toBe('mixedStates');
  });

  it('is the failure of any instance, and names other failures', () => {
    const failure = { error: 'oplogHistoryLost', errorDescription: 'Lost.' } as const;
    expect(aggregateProgress(snapshot({ a: {}, b: { failure } }), null).failure).toEqual(failure);
    const other = { error: 'documentTooLarge', errorDescription: 'Large.' } as const;
    expect(
      aggregateProgress(snapshot({ a: { failure }, b: { failure: other }, c: { failure } }), null).failure,
    ).toEqual({
      error: 'oplogHistoryLost',
      errorDescription: 'Lost. Other instances failed too (b: documentTooLarge).',
    });
  });

  it('can commit when all instances can, are alive and complete', () => {
    const ready: ReportChanges = {
      ready: { canCommit: true, canWrite: true },
      expectedIds: ['a', 'b'],
      progress: { canCommit: true },
    };
    expect(progressOf({ a: ready, b: ready })).toMatchObject({ canCommit: true, canWrite: true });
    expect(progressOf({ a: ready, b: { ...ready, ready: { canCommit: false, canWrite: false } } })).toMatchObject({
      canCommit: false,
      canWrite: false,
    });
    expect(progressOf({ a: ready, b: { ...ready, fresh: false } })).toMatchObject({ canCommit: false, canWrite: true });
    expect(progressOf({ a: ready })).toMatchObject({ canCommit: false, canWrite: false });
    expect(progressOf({ a: ready, b: { ...ready, progress: { canCommit: false } } }).canCommit).toBe(false);
    expect(
      progressOf({ a: ready, b: { ...ready, state: 'COMMITTING', progress: { canCommit: false } } }).canCommit,
    ).toBe(true);
    const committing: ReportChanges = { ...ready, state: 'COMMITTING', progress: { canCommit: false } };
    expect(progressOf({ a: committing, b: committing })).toMatchObject({ state: 'COMMITTING', canCommit: false });
  });

  it('offers neither a commit nor writes while no instance is known', () => {
    expect(progressOf({})).toMatchObject({
      state: 'INITIALIZING',
      canCommit: false,
      canWrite: false,
      commitBlockers: null,
    });
  });

  it('names the blockers of a known migration while an instance starts, and while the clusters change roles', () => {
    const blockersOf = (instances: Readonly<Record<string, ReportChanges>>) =>
      progressOf(instances).commitBlockers?.map(({ instance, reason }) => `${instance} ${reason}`) ?? null;
    const ready: ReportChanges = {
      ready: { canCommit: true, canWrite: false },
      expectedIds: ['a', 'b'],
      progress: { canCommit: true },
    };
    expect(blockersOf({ a: { state: 'INITIALIZING' }, b: { state: 'INITIALIZING' } })).toBeNull();
    expect(blockersOf({ a: { state: 'INITIALIZING' }, b: ready })).toEqual(['a notStarted']);
    const commitBlockers = [
      { instance: 'a', reason: 'notStarted', value: null, limit: null, description: 'the clusters change roles' },
    ] as const;
    expect(
      blockersOf({ a: { ...ready, state: 'REVERSING', progress: { commitBlockers: [...commitBlockers] } } }),
    ).toEqual(['b missing', 'a notStarted']);
    expect(blockersOf({ a: { ...ready, state: 'COMMITTED' } })).toBeNull();
  });

  it('names the blockers of each instance once', () => {
    const [ready, late] = [
      { canCommit: true, canWrite: false },
      { canCommit: false, canWrite: false },
    ];
    const blocker = {
      reason: 'verifierLag',
      value: 111,
      limit: 30,
      description: 'the verifier is 111 s behind (limit 30 s)',
    } as const;
    const commitBlockers = [{ instance: 'b', ...blocker }];
    const base: ReportChanges = { expectedIds: ['a', 'b', 'c', 'd', 'e'] };
    const { commitBlockers: reported } = progressOf({
      a: { ...base, ready, progress: { canCommit: false, commitBlockers } },
      b: { ...base, ready: late, progress: { commitBlockers } },
      c: { ...base, ready, progress: { canCommit: true }, fresh: false },
      d: { ...base, ready: late, progress: { commitBlockers } },
    });
    expect(reported?.map(({ instance, reason, value, limit }) => [instance, reason, value, limit])).toEqual([
      ['e', 'missing', null, null],
      ['a', 'awaitsOthers', null, null],
      ['b', 'verifierLag', 111, 30],
      ['c', 'silent', expect.any(Number), null],
      ['d', 'notReady', null, null],
    ]);
  });

  it("uses the leader's total and sums the copied bytes", () => {
    const copy = (estimatedTotalBytes: number, estimatedCopiedBytes: number): ReportChanges => ({
      progress: { collectionCopy: { estimatedTotalBytes, estimatedCopiedBytes } },
    });
    expect(progressOf({ a: copy(1_000, 100), b: copy(1_000, 150) })).toMatchObject({
      collectionCopy: { estimatedTotalBytes: 1_000, estimatedCopiedBytes: 250 },
      percent: 25,
    });
    expect(progressOf({ a: copy(900, 500), b: copy(1_000, 450) })).toMatchObject({
      collectionCopy: { estimatedTotalBytes: 900, estimatedCopiedBytes: 900 },
      percent: 100,
    });
    expect(progressOf({ a: copy(1, 0), b: copy(1, 0) })).toMatchObject({
      collectionCopy: { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 },
      percent: 0,
    });
    expect(progressOf({ a: copy(1, 0), b: copy(1_000, 500) }).percent).toBe(50);
    expect(progressOf({ a: {}, b: copy(1_000, 500) }).percent).toBe(50);
    expect(progressOf({ a: copy(0, 0) }).percent).toBe(100);
  });

  it('uses the largest lag, null when paused and 0 when committed', () => {
    const lag = (lagTimeSeconds: number | null): Partial<Progress> => ({ lagTimeSeconds });
    expect(
      progressOf({ a: { progress: lag(3) }, b: { progress: lag(9) }, c: { progress: lag(null) } }).lagTimeSeconds,
    ).toBe(9);
    expect(progressOf({ a: { state: 'PAUSED', progress: lag(3) } }).lagTimeSeconds).toBeNull();
    expect(progressOf({ a: { state: 'COMMITTED', progress: lag(3) } }).lagTimeSeconds).toBe(0);
  });

  it('sums events, and rates of live instances', () => {
    const one: ReportChanges = {
      progress: { totalEventsApplied: 10 },
      rates: { copyBytesPerSecond: 5, eventsPerSecond: 2 },
    };
    expect(progressOf({ a: one, b: one, c: { ...one, fresh: false } })).toMatchObject({
      totalEventsApplied: 30,
      copyBytesPerSecond: 10,
      eventsPerSecond: 4,
    });
  });

  it('uses info and stage of the least advanced instance', () => {
    expect(
      progressOf({
        a: { progress: { info: 'change event application' } },
        b: { progress: { info: 'collection copy' } },
      }).info,
    ).toBe('collection copy');
    const committed: ReportChanges = { state: 'COMMITTED', progress: { info: 'commit completed' } };
    const committing: ReportChanges = { state: 'COMMITTING', progress: { info: 'waiting for commit to complete' } };
    expect(progressOf({ a: committed, b: committing }).info).toBe('waiting for commit to complete');
    expect(
      progressOf({
        a: { progress: { ceaStage: 'steady state' } },
        b: { progress: { ceaStage: 'collection copy drain' } },
      }).ceaStage,
    ).toBe('collection copy drain');
  });

  it('shows the leader as syncID and coordinatorID', () => {
    expect(progressOf({ b: {}, a: {} })).toMatchObject({ syncID: 'sync-b', coordinatorID: 'sync-b' });
    const leaderless = { ...snapshot({ a: {} }), leader: null };
    expect(aggregateProgress(leaderless, null).progress).toMatchObject({ syncID: null, coordinatorID: null });
  });

  it('sums the verifiers, with the earliest phase and the largest lag', () => {
    const { verification: whole } = progressOf({
      a: { progress: { verification: verification('stream hashing', 3) } },
      b: { progress: { verification: verification('initial hashing', 4) } },
      c: {},
    });
    expect(whole?.source).toEqual({
      estimatedDocumentCount: 7,
      hashedDocumentCount: 7,
      lagTimeSeconds: 4,
      phase: 'initial hashing',
      scannedCollectionCount: 7,
      totalCollectionCount: 7,
    });
    expect(whole?.destination.hashedDocumentCount).toBeNull();
    expect(progressOf({ a: {} }).verification).toBeNull();
  });

  it('uses the worst stats of links, lag and oplog', () => {
    const one = (stat: number, oplogRemaining_seconds: number | null): ReportChanges => ({
      oplogRemaining_seconds,
      progress: {
        source: { pingLatencyMs: stat },
        destination: { pingLatencyMs: null },
        lag: { overallLagSeconds: stat, crudLagSeconds: null, ddlLagSeconds: stat },
        estimatedSecondsToCEACatchup: stat,
      },
    });
    expect(progressOf({ a: one(2, 90 * 3600), b: one(5, 12 * 3600 + 5), c: one(1, null) })).toMatchObject({
      source: { pingLatencyMs: 5 },
      destination: { pingLatencyMs: null },
      lag: { overallLagSeconds: 5, crudLagSeconds: null, ddlLagSeconds: 5 },
      estimatedOplogTimeRemaining: '12 hours',
      estimatedSecondsToCEACatchup: 5,
    });
  });

  it('has no catch-up estimate while one instance has none', () => {
    const one = (estimatedSecondsToCEACatchup: number | null): ReportChanges => ({
      progress: { estimatedSecondsToCEACatchup },
    });
    expect(progressOf({ a: one(7), b: one(null) }).estimatedSecondsToCEACatchup).toBeNull();
    expect(progressOf({ a: one(7), b: one(0) }).estimatedSecondsToCEACatchup).toBe(7);
  });

  it('marks silent instances in their rows and in a warning', () => {
    const { progress, instances } = aggregateProgress(
      snapshot({
        a: { expectedIds: ['a', 'b', 'c'] },
        b: { fresh: false, silent_ms: 12_400, rates: { copyBytesPerSecond: 5, eventsPerSecond: 5 } },
      }),
      null,
    );
    expect(instances[1]).toMatchObject({
      id: 'b',
      reachable: false,
      secondsSinceHeartbeat: 12,
      copyBytesPerSecond: null,
    });
    expect(instances[2]).toMatchObject({ id: 'c', syncID: null, state: null, reachable: false, problems: ['missing'] });
    expect(progress.warnings?.map(({ name }) => name)).toEqual(['waitingForInstances', 'instancesSilent']);
  });

  it('says for which instances a recorded command waits, and why; its state is that of the others', () => {
    const waitingFor = ['away', 'gone', 'other', 'refuses', 'taken', 'young'].map((instance) => ({
      instance,
      command: 'start' as const,
      description: 'recorded',
    }));
    const warnings = [{ name: 'waitingForInstances', description: 'Of one instance.' }];
    const clusters = (cluster1: string) => ({ clusterIds: { cluster0: 'x', cluster1 } });
    const idle = { state: 'IDLE' as const };
    const refused = { command: 'start' as const, error: 'wrongCluster' as const, errorDescription: 'Not this one.' };
    const expectedIds = ['a', 'away', 'gone', 'other', 'refuses', 'taken', 'young'];
    const progress = progressOf({
      a: { expectedIds, ...clusters('y'), optionsDigest: 'd', progress: { waitingFor, warnings } },
      gone: { ...idle, fresh: false, silent_ms: 7_000 },
      other: { ...idle, ...clusters('z') },
      refuses: { ...idle, ...clusters('y'), refused },
      taken: { ...clusters('y'), optionsDigest: 'd' },
      young: { state: 'INITIALIZING' },
    });
    expect(progress.state).toBe('RUNNING');
    const reasons = Object.fromEntries((progress.waitingFor ?? []).map((one) => [one.instance, one.description]));
    expect(reasons).toEqual({
      away: 'it has never registered. Start its process; it then takes the recorded start.',
      gone: 'no heartbeat for 7 s. Once it runs again, it takes the recorded start.',
      other: 'it has other clusters configured than the rest. Configure the same cluster0 and cluster1 for all.',
      refuses: 'it refuses (wrongCluster). Not this one. It tries again.',
      young: 'it is INITIALIZING and takes the recorded start shortly.',
    });
    const names = progress.warnings?.map(({ name }) => name);
    expect(names).toEqual([
      ...Array.from({ length: 5 }, () => 'waitingForInstances'),
      'instancesSilent',
      'clustersDiffer',
    ]);
    expect(progress.warnings?.[0]?.description).toMatch(/^WAITING for away to start: it has never registered/);
  });

  it('names ten of many instances in a warning, and counts the rest', () => {
    const ids = Array.from({ length: 256 }, (_, at) => `shard${String(at).padStart(3, '0')}`);
    const { warnings } = progressOf(Object.fromEntries(ids.map((id, at) => [id, { fresh: at < 100 }])));
    expect(warnings?.[0]?.description).toMatch(/^No heartbeat from shard100, .*, shard109 and 146 more\./);
  });

  it('warns of instances with other clusters, and passes on each warning once', () => {
    const warning = { name: 'slow', description: 'Slow.' };
    const one = (cluster1: string): ReportChanges => ({
      clusterIds: { cluster0: 'x', cluster1 },
      progress: { warnings: [warning] },
    });
    const { progress, instances } = aggregateProgress(snapshot({ a: one('y'), b: one('z'), c: one('y') }), null);
    expect(progress.warnings?.map(({ name }) => name)).toEqual(['clustersDiffer', 'slow']);
    expect(progress.warnings?.[0]?.description).toContain('than the rest: b.');
    expect(instances.map(({ problems }) => problems)).toEqual([[], ['otherClusters'], []]);
  });

  it('names instances of another release', () => {
    const snapped = snapshot({ a: {}, b: {} });
    const b = snapped.reports.get('b');
    if (b !== undefined) b.report.identity.release = '1.8.0';
    const { progress, instances } = aggregateProgress(snapped, null);
    expect(progress.warnings).toEqual([
      {
        name: 'releasesDiffer',
        description: 'These instances run another release than 2.0.0: b. Run the same release everywhere.',
      },
    ]);
    expect(instances[1]).toMatchObject({ id: 'b', release: '1.8.0', problems: ['otherRelease'] });
  });

  it('excludes instances without a source shard, and names them', () => {
    const expectedIds = ['a', 'b'];
    const { progress, instances } = aggregateProgress(
      snapshot({ a: { expectedIds }, b: { expectedIds }, extra: { state: 'IDLE' } }),
      null,
    );
    expect(progress.state).toBe('RUNNING');
    expect(progress.warnings?.map(({ name }) => name)).toEqual(['instancesUnexpected']);
    expect(instances.map(({ id, problems }) => [id, problems])).toEqual([
      ['a', []],
      ['b', []],
      ['extra', ['unexpected']],
    ]);
  });

  it('warns when it does not receive messages, so that its values may be old', () => {
    const { warnings } = aggregateProgress({ ...snapshot({ a: {} }), isConnected: false }, null).progress;
    expect(warnings?.map(({ name }) => name)).toEqual(['redisUnavailable']);
  });

  it('says that the metadata is removed as soon as one instance does, and only once all are committed', () => {
    const removed = (states: readonly (readonly [MigrationState, boolean | null])[]) =>
      progressOf(
        Object.fromEntries(
          states.map(([state, metadataRemoved], at) => [at, { state, progress: { metadataRemoved } }]),
        ),
      ).metadataRemoved;
    expect(
      removed([
        ['COMMITTED', false],
        ['COMMITTED', true],
      ]),
    ).toBe(true);
    expect(
      removed([
        ['COMMITTED', false],
        ['COMMITTED', false],
      ]),
    ).toBe(false);
    expect(
      removed([
        ['RUNNING', null],
        ['COMMITTED', true],
      ]),
    ).toBeNull();
  });

  it("conforms to the contract's schema", () => {
    const copying: ReportChanges = {
      progress: { collectionCopy: { estimatedTotalBytes: 10, estimatedCopiedBytes: 3 } },
    };
    const { progress } = aggregateProgress(snapshot({ a: copying, b: { ...copying, fresh: false } }), null);
    expect(fleetProgressSchema.parse(progress)).toEqual(progress);
  });

  it('counts down the remaining time between two calls', () => {
    const copying = (estimatedCopiedBytes: number): Readonly<Record<string, ReportChanges>> => ({
      a: {
        rates: { copyBytesPerSecond: 10, eventsPerSecond: 0 },
        progress: { collectionCopy: { estimatedTotalBytes: 1_000, estimatedCopiedBytes } },
      },
    });
    const first = aggregateProgress(snapshot(copying(0)), null);
    expect(first.progress.secondsRemaining).toBe(100);
    expect(first.progress.copyEndsAt).toBe(new Date(Math.ceil((NOW_MS + 100_000) / 60_000) * 60_000).toISOString());
    const next = aggregateProgress(snapshot(copying(100), NOW_MS + 10_000), first.remaining);
    expect(next.progress.secondsRemaining).toBe(90);
    const last = aggregateProgress(snapshot(copying(1_000), NOW_MS + 20_000), next.remaining).progress;
    expect(last).toMatchObject({ secondsRemaining: 0, copyEndsAt: null });
  });
});
