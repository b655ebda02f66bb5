import type { SeenReport } from '@convoy/api/fleet/fleet';
import { blockedBy, type CommitBlocker } from '@convoy/api/contract/commit-blocker';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { idleReport } from '@convoy/api/fleet/idle-report';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VerificationReadiness, type VerificationStats } from '../../../../src/lifecycle/task/verification-stats.js';
import { CommitOffer, type JudgedStats } from '../../../../src/lifecycle/instance/commit-offer.js';
import type { LastingDifferences } from '../../../../src/store/task-record.js';
import { viewWith } from '../../model/migration-state.js';
import { never } from '../../model/parts.js';
import { VirtualClock } from '../../verify/embedded/virtual-clock.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';

const identity = { id: 'shard1', syncID: 'b', incarnation: '1', release: '2.0.0' };

const optionsOf = (buildIndexes: string) =>
  parseStartRequest({ source: 'cluster0', destination: 'cluster1', buildIndexes });

/** The durable state, with the peer's task as recorded. */
function viewOf(
  task: { copyDone: boolean; paused: boolean } | null,
  record: Partial<MigrationView['record']> = {},
): MigrationView {
  return viewWith(
    { taskIds: ['shard0', 'shard1'], options: optionsOf('beforeDataCopy'), ...record },
    task === null ? [] : [{ _id: 'shard1', ...task }],
  );
}

const ready: JudgedStats = { copyDone: true, followsStream: true, lag_seconds: 0 };

/** Two instances: the own one with shard0, and a peer with shard1. */
class Fixture {
  readonly clock = new VirtualClock(() => 0);
  readonly run = {
    failure: null,
    state: 'RUNNING' as 'RUNNING' | 'PAUSED' | 'COMMITTED' | 'REVERSING',
    verification: null as null | (Pick<VerificationStats, 'blocker'> | null)[],
    liveStats: [ready],
    view: viewOf({ copyDone: true, paused: false }),
    deps: { ownIds: ['shard0'] },
    isCommitRequested: () => Promise.resolve(this.isTakenElsewhere),
  };
  peer: Pick<SeenReport, 'fresh'> & { canCommit: boolean; commitBlockers?: CommitBlocker[] } = {
    fresh: true,
    canCommit: true,
  };
  isTakenElsewhere = false;
  versionRefusal: string | null = null;
  readonly offer = new CommitOffer(
    'shard0',
    { reports: () => new Map([['shard1', this.#report()]]) },
    this.clock,
    () => this.versionRefusal,
  );

  /** The blockers in progress, by instance and reason. */
  get blockers(): string[] | null {
    return this.offer.blockers(this.run)?.map(({ instance, reason }) => `${instance} ${reason}`) ?? null;
  }

  /** Whether progress offers a commit now. */
  get stands(): boolean {
    return this.offer.stands(this.run);
  }

  commit(): Promise<void> {
    return this.clock.run(this.offer.untilItStands(this.run, never));
  }

  /** Changes something after a time, while a command waits. */
  after(ms: number, change: () => void): void {
    void this.clock.sleep(ms, never).then(change);
  }

  /** The warnings at each of these looks, five seconds apart. */
  async warnings(looks: number): Promise<string[]> {
    const reported: string[] = [];
    for (let look = 0; look < looks; look += 1) {
      reported.push(
        this.offer
          .warnings(this.run)
          .map(({ name, description }) => `${name}: ${description}`)
          .join(),
      );
      await this.clock.run(this.clock.sleep(5_000, never));
    }
    return reported;
  }

  #report(): SeenReport {
    const report = idleReport(identity);
    const progress = { ...report.progress, commitBlockers: this.peer.commitBlockers ?? null };
    return {
      report: { ...report, progress, ready: { canCommit: this.peer.canCommit, canWrite: false } },
      reportedAt_ms: 0,
      fresh: this.peer.fresh,
    };
  }
}

/** A verifier that waits for something. */
function verifier(description: string): Fixture['run']['verification'] {
  return [{ blocker: blockedBy('verifierLag', description, { value: 111, limit: 30 }) }];
}

function differing(lasting: LastingDifferences): Fixture['run']['verification'] {
  return [
    {
      blocker: new VerificationReadiness().judge({ hasCompared: true, leftDocuments: 0, readLag_seconds: 0, lasting }),
    },
  ];
}

describe('a commit', () => {
  it('is taken at once when every instance is ready', async () => {
    const fixture = new Fixture();
    await fixture.commit();
    expect(fixture.clock.now_ms()).toBe(0);
  });

  it('is taken when another instance has taken it', async () => {
    const fixture = new Fixture();
    fixture.peer.canCommit = false;
    fixture.isTakenElsewhere = true;
    await fixture.commit();
  });

  it.each([
    [
      'the copy goes on',
      (fixture: Fixture) => (fixture.run.liveStats = [{ ...ready, copyDone: false }]),
      'collections are still being copied',
    ],
    [
      'the verifier compares',
      (fixture: Fixture) => (fixture.run.verification = [null]),
      'the verifier has not compared everything',
    ],
    [
      'the verifier is behind',
      (fixture: Fixture) => (fixture.run.verification = verifier('the verifier is 111 s behind')),
      'shard0: the verifier is 111 s behind',
    ],
    [
      'documents differ',
      (fixture: Fixture) =>
        (fixture.run.verification = differing({ documents: 2, givenUp: 0, namespaces: ['shop.b', 'shop.a'] })),
      '2 documents differ, in: shop.a, shop.b, and are being read again',
    ],
    [
      'documents stay different',
      (fixture: Fixture) =>
        (fixture.run.verification = differing({ documents: 2, givenUp: 1, namespaces: ['shop.a'] })),
      '1 of them although they were read again 3 times',
    ],
    ['a peer is not ready', (fixture: Fixture) => (fixture.peer.canCommit = false), 'shard1: it is not ready'],
    ['a peer is silent', (fixture: Fixture) => (fixture.peer.fresh = false), 'shard1: it does not answer'],
  ])('that was never offered is refused at once, with the reason: %s', async (_what, change, reason) => {
    const fixture = new Fixture();
    change(fixture);
    await expect(fixture.commit()).rejects.toMatchObject({
      error: 'cannotCommit',
      errorDescription: expect.stringContaining(reason) as string,
    });
    expect(fixture.clock.now_ms()).toBe(0);
  });
});

describe('what progress names as blocking a commit', () => {
  it('is empty when a commit would be accepted, and null once one is taken', () => {
    const fixture = new Fixture();
    expect(fixture.blockers).toEqual([]);
    fixture.run.state = 'COMMITTED';
    expect(fixture.blockers).toBeNull();
    fixture.run.state = 'REVERSING';
    expect(fixture.blockers).toEqual(['shard0 notStarted']);
  });

  it('is the own reason first, and otherwise those of peers as they report them', () => {
    const fixture = new Fixture();
    fixture.run.verification = verifier('the verifier is 111 s behind');
    fixture.peer = { fresh: true, canCommit: false };
    expect(fixture.blockers).toEqual(['shard0 verifierLag']);
    fixture.run.verification = null;
    expect(fixture.blockers).toEqual(['shard1 notReady']);
    const lag = blockedBy('lag', 'changes are 40 s behind (limit 30 s)', { value: 40, limit: 30 });
    fixture.peer.commitBlockers = [
      { instance: 'shard0', ...lag },
      { instance: 'shard1', ...lag },
    ];
    expect(fixture.blockers).toEqual(['shard1 lag']);
    fixture.peer.fresh = false;
    expect(fixture.blockers).toEqual(['shard1 silent']);
    fixture.run.state = 'PAUSED';
    expect(fixture.blockers).toEqual(['shard0 notRunning']);
  });
});

describe('a report that says a peer is ready', () => {
  it.each([
    ['whose copy is not done', { copyDone: false, paused: false }],
    ['that is paused', { copyDone: true, paused: true }],
    ['that has never begun', null],
  ])('of a task %s by its record makes no commit possible', async (_what, task) => {
    const fixture = new Fixture();
    fixture.run.view = viewOf(task);
    expect(fixture.stands).toBe(false);
    await expect(fixture.commit()).rejects.toMatchObject({
      error: 'cannotCommit',
      errorDescription: expect.stringContaining('shard1: it has not recorded') as string,
    });
  });
});

describe('a commit that progress has offered', () => {
  it('is accepted although the late report of a paused peer withdraws the offer for a moment', async () => {
    const fixture = new Fixture();
    expect(fixture.stands).toBe(true);
    fixture.peer.canCommit = false;
    fixture.after(1_500, () => (fixture.peer.canCommit = true));
    await fixture.commit();
    expect(fixture.clock.now_ms()).toBeLessThan(2_000);
  });

  it('is refused when the offer does not come back', async () => {
    const fixture = new Fixture();
    expect(fixture.stands).toBe(true);
    fixture.peer.canCommit = false;
    await expect(fixture.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(fixture.clock.now_ms()).toBe(12_000);
  });

  it('before a pause is refused at once', async () => {
    const fixture = new Fixture();
    expect(fixture.stands).toBe(true);
    fixture.run.state = 'PAUSED';
    expect(fixture.stands).toBe(false);
    fixture.run.state = 'RUNNING';
    fixture.peer.canCommit = false;
    await expect(fixture.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(fixture.clock.now_ms()).toBe(0);
  });

  it('is refused at once by its name when the versions of the clusters no longer fit', async () => {
    const fixture = new Fixture();
    expect(fixture.stands).toBe(true);
    fixture.versionRefusal = 'cluster1 was lowered';
    expect(fixture.blockers).toEqual(['shard0 featureVersion']);
    await expect(fixture.commit()).rejects.toMatchObject({ error: 'unsupportedServerVersion' });
    expect(fixture.clock.now_ms()).toBe(0);
    fixture.versionRefusal = null;
    await fixture.commit();
  });

  it('long ago is refused at once', async () => {
    const fixture = new Fixture();
    expect(fixture.stands).toBe(true);
    fixture.peer.canCommit = false;
    await fixture.clock.run(fixture.clock.sleep(10_001, never));
    await expect(fixture.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(fixture.clock.now_ms()).toBe(10_001);
  });
});

describe('a commit that is not offered although everything is copied', () => {
  const reported = 'commitNotOffered: shard0 does not offer a commit: shard1: it does not answer.';

  it('has its reason in a warning after a while, as long as it stays so', async () => {
    const fixture = new Fixture();
    fixture.peer.fresh = false;
    expect(await fixture.warnings(5)).toEqual(['', '', '', reported, reported]);
    fixture.peer.fresh = true;
    expect(await fixture.warnings(1)).toEqual(['']);
    fixture.peer.fresh = false;
    expect(await fixture.warnings(4)).toEqual(['', '', '', reported]);
  });

  it('causes no warning while the copy continues, or nothing runs', async () => {
    const fixture = new Fixture();
    fixture.run.liveStats = [{ ...ready, copyDone: false }];
    expect(await fixture.warnings(5)).toEqual(['', '', '', '', '']);
    fixture.run.liveStats = [];
    expect(await fixture.warnings(5)).toEqual(['', '', '', '', '']);
  });
});

it('a commit that is not offered always has a blocker, and one that is offered has none', () => {
  const tasks = fc.array(
    fc.record({ copyDone: fc.boolean(), followsStream: fc.boolean(), lag_seconds: fc.nat({ max: 100 }) }),
    { maxLength: 2 },
  );
  const verification = fc.option(
    fc.record({
      hasCompared: fc.boolean(),
      leftDocuments: fc.nat({ max: 200_000 }),
      readLag_seconds: fc.nat({ max: 100 }),
      lasting: fc.record({
        documents: fc.nat({ max: 1 }),
        givenUp: fc.constant(0),
        namespaces: fc.constant<string[]>(['shop.a']),
      }),
    }),
    { nil: null },
  );
  const cases = fc.record({
    state: fc.constantFrom('RUNNING' as const, 'PAUSED' as const),
    tasks,
    verification,
    task: fc.option(fc.record({ copyDone: fc.boolean(), paused: fc.boolean() }), { nil: null }),
    peer: fc.record({ fresh: fc.boolean(), canCommit: fc.boolean() }),
  });
  fc.assert(
    fc.property(cases, (one) => {
      const fixture = new Fixture();
      fixture.run.state = one.state;
      fixture.run.liveStats = one.tasks;
      fixture.run.view = viewOf(one.task);
      fixture.peer = one.peer;
      if (one.verification !== null)
        fixture.run.verification = [{ blocker: new VerificationReadiness().judge(one.verification) }];
      expect(fixture.stands).toBe(fixture.blockers?.length === 0);
    }),
  );
});

it('indexes that are built after the copy block a commit until they are built', () => {
  const fixture = new Fixture();
  const options = optionsOf('afterDataCopy');
  const copied = { copyDone: true, paused: false };
  for (const record of [{ options }, { options, indexBuilds: 'running' as const }]) {
    fixture.run.view = viewOf(copied, record);
    expect([fixture.stands, fixture.blockers]).toEqual([false, ['shard0 buildingIndexes']]);
  }
  fixture.run.view = viewOf(copied, { options, indexBuilds: 'done' });
  expect([fixture.stands, fixture.blockers]).toEqual([true, []]);
});

it('an index that is being built blocks a commit', () => {
  const fixture = new Fixture();
  const warnings = [{ name: 'buildingIndexes', description: 'index a_1' }];
  fixture.run.view = viewOf({ copyDone: true, paused: false }, { warnings });
  expect([fixture.stands, fixture.blockers]).toEqual([false, ['shard0 buildingIndexes']]);
});

it('definitions that the leader cannot bring into line block a commit', () => {
  const fixture = new Fixture();
  const warnings = [{ name: 'definitionsDiffer', description: 'index a_1' }];
  fixture.run.view = viewOf({ copyDone: true, paused: false }, { warnings });
  expect([fixture.stands, fixture.blockers]).toEqual([false, ['shard0 definitions']]);
});

it('the first look at what would be left behind blocks a commit until it is made or has failed', () => {
  const fixture = new Fixture();
  const copied = { copyDone: true, paused: false };
  fixture.run.view = viewOf(copied, { inventoryLook: 'pending' });
  expect([fixture.stands, fixture.blockers]).toEqual([false, ['shard0 inventory']]);
  fixture.run.view = viewOf(copied, { inventoryLook: 'done' });
  expect([fixture.stands, fixture.blockers]).toEqual([true, []]);
});
