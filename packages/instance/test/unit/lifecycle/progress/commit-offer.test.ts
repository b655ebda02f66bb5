import type { SeenReport } from '@convoy/api/fleet/fleet';
import { blockedBy, type CommitBlocker } from '@convoy/api/contract/commit-blocker';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { describe, expect, it } from 'vitest';
import type { VerificationFigures } from '../../../../src/lifecycle/figures/verification-figures.js';
import type { ShareFigures } from '../../../../src/lifecycle/figures/share-figures.js';
import { VerificationReadiness } from '../../../../src/lifecycle/figures/verification-readiness.js';
import { CommitOffer } from '../../../../src/lifecycle/progress/commit-offer.js';
import type { MigrationView } from '../../../../src/lifecycle/migration/migration-watch.js';
import type { LastingDifferences } from '../../../../src/store/share-record.js';
import { never } from '../../model/parts.js';
import { VirtualClock } from '../../verify/embedded/virtual-clock.js';

const identity = { id: 'shard1', syncID: 'b', incarnation: '1', release: '1.9.0' };

/** What the destination holds of the migration, with the peer's share as it is recorded. */
function viewOf(share: { copyDone: boolean; paused: boolean } | null): MigrationView {
  return { record: { shareIds: ['shard0', 'shard1'] }, shares: new Map(share === null ? [] : [['shard1', share]]) } as unknown as MigrationView;
}

/** Two instances: the own one with shard0, whose peer has shard1. */
class Scene {
  readonly clock = new VirtualClock(() => 0);
  readonly run = {
    failure: null,
    state: 'RUNNING' as 'RUNNING' | 'PAUSED' | 'COMMITTED',
    verification: null as null | (Partial<VerificationFigures> | null)[],
    liveFigures: [{ copyDone: true, followsStream: true, lag_seconds: 0 } as ShareFigures],
    view: viewOf({ copyDone: true, paused: false }),
    input: { ownIds: ['shard0'] },
    isCommitRequested: () => Promise.resolve(this.isTakenElsewhere),
  };
  peer: Pick<SeenReport, 'fresh'> & { canCommit: boolean; commitBlockers?: CommitBlocker[] } = { fresh: true, canCommit: true };
  isTakenElsewhere = false;
  readonly offer = new CommitOffer('shard0', { reports: () => new Map([['shard1', this.#report()]]) }, this.clock);

  /** What progress names, by instance and reason. */
  get blockers(): string[] | null {
    return this.offer.blockers(this.#run)?.map(({ instance, reason }) => `${instance} ${reason}`) ?? null;
  }

  /** Whether progress offers a commit now. */
  get stands(): boolean {
    return this.offer.stands(this.#run);
  }

  commit(): Promise<void> {
    return this.clock.run(this.offer.untilItStands(this.#run, never));
  }

  /** Changes something after a time, while a command waits. */
  after(ms: number, change: () => void): void {
    void this.clock.sleep(ms, never).then(change);
  }

  /** What is said after each of so many looks, five seconds apart. */
  async warnings(looks: number): Promise<string[]> {
    const told: string[] = [];
    for (let look = 0; look < looks; look += 1) {
      told.push(this.offer.warnings(this.#run).map(({ name, description }) => `${name}: ${description}`).join());
      await this.clock.run(this.clock.sleep(5_000, never));
    }
    return told;
  }

  get #run(): Parameters<CommitOffer['untilItStands']>[0] {
    return this.run as unknown as Parameters<CommitOffer['untilItStands']>[0];
  }

  #report(): SeenReport {
    const report = idleReport(identity);
    const progress = { ...report.progress, commitBlockers: this.peer.commitBlockers ?? null };
    return { report: { ...report, progress, ready: { canCommit: this.peer.canCommit, canWrite: false } }, reportedAt_ms: 0, fresh: this.peer.fresh };
  }
}

/** A verifier that waits for something. */
function verifier(description: string): Scene['run']['verification'] {
  return [{ blocker: blockedBy('verifierLag', description, { value: 111, limit: 30 }) }];
}

function differing(lasting: LastingDifferences): Scene['run']['verification'] {
  return [{ blocker: new VerificationReadiness().judge({ hasCompared: true, leftDocuments: 0, readLag_seconds: 0, lasting }) }];
}

describe('a commit', () => {
  it('is taken at once when every instance is ready', async () => {
    const scene = new Scene();
    await scene.commit();
    expect(scene.clock.now_ms()).toBe(0);
  });

  it('is taken when another instance has taken it', async () => {
    const scene = new Scene();
    scene.peer.canCommit = false;
    scene.isTakenElsewhere = true;
    await scene.commit();
  });

  it.each([
    ['the copy goes on', (scene: Scene) => (scene.run.liveFigures = [{ ...scene.run.liveFigures[0], copyDone: false } as ShareFigures]), 'collections are still being copied'],
    ['the verifier compares', (scene: Scene) => (scene.run.verification = [null]), 'the verifier has not compared everything'],
    ['the verifier is behind', (scene: Scene) => (scene.run.verification = verifier('the verifier is 111 s behind')), 'shard0: the verifier is 111 s behind'],
    ['documents differ', (scene: Scene) => (scene.run.verification = differing({ documents: 2, givenUp: 0, namespaces: ['shop.b', 'shop.a'] })), '2 documents differ, in: shop.a, shop.b, and are read anew'],
    ['documents stay different', (scene: Scene) => (scene.run.verification = differing({ documents: 2, givenUp: 1, namespaces: ['shop.a'] })), '1 of them although they were read anew 3 times'],
    ['a peer is not ready', (scene: Scene) => (scene.peer.canCommit = false), 'shard1: it is not ready'],
    ['a peer is silent', (scene: Scene) => (scene.peer.fresh = false), 'shard1: it does not answer'],
  ])('that was never offered is refused at once, with the reason: %s', async (_what, change, reason) => {
    const scene = new Scene();
    change(scene);
    await expect(scene.commit()).rejects.toMatchObject({ error: 'cannotCommit', errorDescription: expect.stringContaining(reason) as string });
    expect(scene.clock.now_ms()).toBe(0);
  });
});

describe('what progress names as keeping a commit from being taken', () => {
  it('is nothing when one would be taken, and is not asked for in states without commits', () => {
    const scene = new Scene();
    expect(scene.blockers).toEqual([]);
    scene.run.state = 'COMMITTED';
    expect(scene.blockers).toBeNull();
  });

  it('is the own reason first, and otherwise those of peers in their own words', () => {
    const scene = new Scene();
    scene.run.verification = verifier('the verifier is 111 s behind');
    scene.peer = { fresh: true, canCommit: false };
    expect(scene.blockers).toEqual(['shard0 verifierLag']);
    scene.run.verification = null;
    expect(scene.blockers).toEqual(['shard1 notReady']);
    const lag = blockedBy('lag', 'changes are 40 s behind (limit 30 s)', { value: 40, limit: 30 });
    scene.peer.commitBlockers = [{ instance: 'shard0', ...lag }, { instance: 'shard1', ...lag }];
    expect(scene.blockers).toEqual(['shard1 lag']);
    scene.peer.fresh = false;
    expect(scene.blockers).toEqual(['shard1 silent']);
    scene.run.state = 'PAUSED';
    expect(scene.blockers).toEqual(['shard0 notRunning']);
  });
});

describe('a report that says a peer is ready', () => {
  it.each([
    ['whose copy is not done', { copyDone: false, paused: false }],
    ['that is paused', { copyDone: true, paused: true }],
    ['that has never begun', null],
  ])('of a share %s by its record makes no commit possible', async (_what, share) => {
    const scene = new Scene();
    scene.run.view = viewOf(share);
    expect(scene.stands).toBe(false);
    await expect(scene.commit()).rejects.toMatchObject({ error: 'cannotCommit', errorDescription: expect.stringContaining('shard1: it has not recorded') as string });
  });
});

describe('a commit that progress has offered', () => {
  it('is taken although the late word of a peer that was paused takes the offer back for a moment', async () => {
    const scene = new Scene();
    expect(scene.stands).toBe(true);
    scene.peer.canCommit = false;
    scene.after(1_500, () => (scene.peer.canCommit = true));
    await scene.commit();
    expect(scene.clock.now_ms()).toBeLessThan(2_000);
  });

  it('is refused when the offer does not come back', async () => {
    const scene = new Scene();
    expect(scene.stands).toBe(true);
    scene.peer.canCommit = false;
    await expect(scene.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(scene.clock.now_ms()).toBe(12_000);
  });

  it('before a pause is refused at once', async () => {
    const scene = new Scene();
    expect(scene.stands).toBe(true);
    scene.run.state = 'PAUSED';
    expect(scene.stands).toBe(false);
    scene.run.state = 'RUNNING';
    scene.peer.canCommit = false;
    await expect(scene.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(scene.clock.now_ms()).toBe(0);
  });

  it('long ago is refused at once', async () => {
    const scene = new Scene();
    expect(scene.stands).toBe(true);
    scene.peer.canCommit = false;
    await scene.clock.run(scene.clock.sleep(10_001, never));
    await expect(scene.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(scene.clock.now_ms()).toBe(10_001);
  });
});

describe('a commit that is not offered although all is copied', () => {
  const told = 'commitNotOffered: No commit is offered at present, as shard0 sees it: shard1: it does not answer.';

  it('has its reason told after a while, as long as it stays so', async () => {
    const scene = new Scene();
    scene.peer.fresh = false;
    expect(await scene.warnings(5)).toEqual(['', '', '', told, told]);
    scene.peer.fresh = true;
    expect(await scene.warnings(1)).toEqual(['']);
    scene.peer.fresh = false;
    expect(await scene.warnings(4)).toEqual(['', '', '', told]);
  });

  it('goes without a word while the copy goes on, or nothing runs', async () => {
    const scene = new Scene();
    scene.run.liveFigures = [{ ...scene.run.liveFigures[0], copyDone: false } as ShareFigures];
    expect(await scene.warnings(5)).toEqual(['', '', '', '', '']);
    scene.run.liveFigures = [];
    expect(await scene.warnings(5)).toEqual(['', '', '', '', '']);
  });
});
