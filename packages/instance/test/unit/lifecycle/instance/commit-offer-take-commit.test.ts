import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { describe, expect, it } from 'vitest';
import { CommitDeadline, CommitOffer } from '../../../../src/lifecycle/instance/commit-offer.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { viewWith } from '../../model/migration-state.js';
import { untilAborted } from '../../model/scheduler.js';
import { never } from '../../model/parts.js';
import { VirtualClock } from '../../verify/embedded/virtual-clock.js';

/** The longest time in which an instance takes a commit. */
const limit_ms = 25_000;

const cluster = fakeCluster({ router: new FakeNodeClient('router', {}) });

/** Never answers, like a call that is repeated for as long as the destination is away. */
const unanswered = (signal: AbortSignal) => untilAborted<never>(signal, () => undefined);

/** An instance that offers a commit. */
class Fixture {
  readonly clock = new VirtualClock(() => 0);
  /** What was written, at which times. */
  readonly recorded_ms: number[] = [];
  versionRefusal: string | null = null;
  readonly offer = new CommitOffer('shard0', { reports: () => new Map() }, this.clock, () => this.versionRefusal);
  readonly run = {
    failure: null,
    state: 'RUNNING' as 'RUNNING' | 'PAUSED',
    verification: null,
    liveStats: [{ copyDone: true, followsStream: true, lag_seconds: 0 }],
    view: viewWith({
      taskIds: ['shard0'],
      options: parseStartRequest({ source: 'cluster0', destination: 'cluster1' }),
    }),
    deps: { ownIds: ['shard0'], source: cluster, destination: cluster, home: cluster },
    isCommitRequested: (_signal: AbortSignal): Promise<boolean> => Promise.resolve(false),
    requestCommit: (_signal: AbortSignal): Promise<void> => {
      this.recorded_ms.push(this.clock.monotonic_ms());
      return Promise.resolve();
    },
  };

  /** The outcome of a commit that arrives now. */
  commit(deadline = new CommitDeadline(this.clock), signal = never): Promise<void> {
    return this.clock.run(deadline.take(this.run, this.offer, signal));
  }
}

describe('a commit', () => {
  it('is recorded while it is offered', async () => {
    const fixture = new Fixture();
    await fixture.commit();
    expect(fixture.recorded_ms).toEqual([0]);
  });

  it('is not taken once its sender waits no longer, although the destination answers again', async () => {
    for (const [awaited_ms, answeredAt_ms] of [
      [undefined, limit_ms],
      [60_000, limit_ms],
      [4_000, 4_000],
    ] as const) {
      const fixture = new Fixture();
      fixture.run.isCommitRequested = unanswered;
      await expect(fixture.commit(new CommitDeadline(fixture.clock, awaited_ms))).rejects.toMatchObject({
        error: 'commandTimedOut',
        errorDescription: expect.stringContaining('will not later. Read progress') as string,
      });
      expect(fixture.clock.now_ms()).toBe(answeredAt_ms);
      expect(fixture.recorded_ms).toEqual([]);
    }
  });

  it('that waited for another command for too long is not taken', async () => {
    const fixture = new Fixture();
    const deadline = new CommitDeadline(fixture.clock);
    await fixture.clock.run(fixture.clock.sleep(limit_ms, never));
    await expect(fixture.commit(deadline)).rejects.toMatchObject({ error: 'commandTimedOut' });
    expect(fixture.recorded_ms).toEqual([]);
  });

  it('is refused when its offer ends while the instance asks the clusters', async () => {
    const fixture = new Fixture();
    fixture.run.isCommitRequested = () => {
      fixture.run.state = 'PAUSED';
      return Promise.resolve(false);
    };
    await expect(fixture.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
    expect(fixture.recorded_ms).toEqual([]);
  });

  it('whose record is in flight at the end of the time may still begin, and its answer says so', async () => {
    const unconfirmed = {
      error: 'commandTimedOut',
      errorDescription: expect.stringMatching(
        /may still begin. Keep the writers .* stopped, and read progress/,
      ) as string,
    };
    const fixture = new Fixture();
    fixture.run.requestCommit = unanswered;
    await expect(fixture.commit()).rejects.toMatchObject(unconfirmed);
    expect(fixture.clock.now_ms()).toBe(limit_ms);
    const ending = new AbortController();
    void fixture.clock.sleep(1_000, never).then(() => ending.abort(new Error('the process ends')));
    await expect(fixture.commit(undefined, ending.signal)).rejects.toMatchObject(unconfirmed);
  });

  it('whose instance ends before it is recorded has that reason', async () => {
    const fixture = new Fixture();
    fixture.run.isCommitRequested = unanswered;
    const ending = new AbortController();
    void fixture.clock.sleep(1_000, never).then(() => ending.abort(new Error('the process ends')));
    await expect(fixture.commit(undefined, ending.signal)).rejects.toThrow('the process ends');
  });
});
