import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { outcomeFailure } from '../../src/director/director-service.js';
import type { FleetDirector } from '../../src/director/fleet-director.js';
import { directorOver, TestMembers, shortTimings, silent, until } from './fleet-of-tests.js';
import { describeOnRedis, fleetName } from './redis-server.js';

const accepted: CommandResult = { success: true };
/** Only a bug takes this long. */
const answersWithin_ms = 60_000;
/** Time limit of a command that one instance never answers; the others answer within it on a busy host too. */
const lateAfter_ms = 5_000;

describeOnRedis('commands', (redis) => {
  let name: string;
  let group: TestMembers;
  let director: FleetDirector;
  const handled: { id: string; command: FleetCommand }[] = [];
  beforeEach(async () => {
    name = fleetName();
    handled.length = 0;
    group = new TestMembers(redis.settings, name);
    director = directorOver(
      {
        redis: redis.settings,
        fleet: name,
        logger: silent,
        timings: shortTimings,
      },
      answersWithin_ms,
    ).director;
    await director.fleet.open();
  });
  afterEach(async () => {
    await Promise.all([group.end(), director.fleet.close()]);
  });

  function impatientDirector(): FleetDirector {
    return directorOver(
      {
        redis: redis.settings,
        fleet: name,
        logger: silent,
        timings: shortTimings,
      },
      lateAfter_ms,
    ).director;
  }

  /** Joins instances that record their commands and reply with the function's result. */
  async function serving(
    ids: readonly string[],
    answer: (id: string) => Promise<CommandResult> = () => Promise.resolve(accepted),
  ): Promise<void> {
    for (const id of ids) {
      const { fleet } = await group.join(id);
      fleet.serve((command) => {
        handled.push({ id, command });
        return answer(id);
      });
    }
    await until(director, 'all instances', () => director.snapshot().reports.size >= ids.length);
  }

  it('go to every instance once, each through its own queue', async () => {
    await serving(['shard0', 'shard:1', 'shard2']);
    const outcome = await director.command('start', { source: 'cluster0' });
    expect(outcome.success).toBe(true);
    expect(handled.map(({ id }) => id).sort()).toEqual(['shard0', 'shard2', 'shard:1']);
    for (const { command } of handled) {
      expect(command).toEqual({ commandId: outcome.commandId, name: 'start', body: { source: 'cluster0' } });
    }
    const queues = (await redis.client.keys(`{convoy:${name}}:queues:*:meta`)).sort();
    expect(queues).toEqual(
      ['shard%3A1', 'shard0', 'shard2'].map((id) => `{convoy:${name}}:queues:commands-${id}:meta`),
    );
  });

  it('that start go to one instance ahead of the others, which join what it records', async () => {
    let [begin, finish] = [(): void => undefined, (): void => undefined];
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await serving(['shard0', 'shard1', 'shard2'], async () => {
      begin();
      await finished;
      return accepted;
    });
    const sent = director.command('start', { source: 'cluster0' }, 'one');
    await begun;
    expect((await redis.client.keys(`{convoy:${name}}:queues:commands-*:one`)).length).toBe(1);
    finish();
    expect((await sent).success).toBe(true);
    expect(handled.length).toBe(3);
  });

  it('that start reach the others although the first one hangs', async () => {
    const hasty = impatientDirector();
    await hasty.fleet.open();
    try {
      let isFirst = true;
      await serving(['shard0', 'shard1'], () => {
        const answer = isFirst ? new Promise<CommandResult>(() => undefined) : Promise.resolve(accepted);
        isFirst = false;
        return answer;
      });
      await until(hasty, 'both instances', () => hasty.snapshot().reports.size === 2);
      const { results } = await hasty.command('start', { source: 'cluster0' });
      expect([...results.values()].map(({ success }) => success).sort()).toEqual([false, true]);
    } finally {
      await hasty.fleet.close();
    }
  });

  it('that hang delay the leave of a leader, not the next election', async () => {
    const timings = { leaderLease_ms: 600_000, leaveWait_ms: 600_000 };
    const first = await group.join('shard0', timings);
    let [begin, finish] = [(): void => undefined, (): void => undefined];
    const started = new Promise<void>((resolve) => (begin = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    first.fleet.serve(async () => {
      begin();
      await finished;
      return accepted;
    });
    await until(first.fleet, 'a leader', () => first.fleet.isLeader());
    await until(director, 'the leader', () => director.snapshot().reports.size > 0);
    const sent = director.command('pause', {});
    await started;
    const second = await group.join('shard1', timings);
    const left = first.fleet.leave();
    await until(second.fleet, 'the take-over', () => second.fleet.isLeader());
    finish();
    await Promise.all([left, sent]);
  });

  it('report which instances rejected them and why', async () => {
    await serving(['shard0', 'shard1'], (id) =>
      Promise.resolve(
        id === 'shard0' ? accepted : { success: false, error: 'optionsDiffer', errorDescription: 'Other options.' },
      ),
    );
    const outcome = await director.command('commit', {});
    expect(outcome.success).toBe(false);
    expect(Object.fromEntries(outcome.results)).toEqual({
      shard0: accepted,
      shard1: { success: false, error: 'optionsDiffer', errorDescription: 'Other options.' },
    });
    expect(outcomeFailure(await director.command('commit', {}))).toMatchObject({
      error: 'commandFailedOnInstances',
      errorDescription: expect.stringContaining('shard0: accepted; shard1: optionsDiffer (Other options).') as string,
    });
  });

  it('answer at once what instances say about another that is missing', async () => {
    const missing = { success: false, error: 'cannotCommit', errorDescription: 'shard1 is missing.' } as const;
    await serving(['shard0'], () => Promise.resolve(missing));
    const { fleet, identity } = await group.join('shard2');
    fleet.serve(() => Promise.resolve(missing));
    fleet.report(idleReport(identity, { state: 'RUNNING', expectedIds: ['shard0', 'shard1', 'shard2'] }));
    const isExpected = () => director.snapshot().reports.get('shard2')?.report.expectedIds.length === 3;
    await until(director, 'who is expected', isExpected);
    const outcome = await director.command('commit', {}, 'incomplete');
    expect(Object.fromEntries(outcome.results)).toEqual({ shard0: missing, shard2: missing });
    expect(await redis.client.keys(`{convoy:${name}}:queues:commands-shard1:*`)).toEqual([]);
  });

  it('go only to the other instances when repeated after a partial success', async () => {
    await serving(['shard0', 'shard1']);
    const { fleet, identity } = await group.join('shard2');
    fleet.report(idleReport(identity, { state: 'COMMITTING' }));
    await until(director, 'the state', () => director.snapshot().reports.get('shard2')?.report.state === 'COMMITTING');
    const outcome = await director.command('commit', {});
    expect(outcome.success).toBe(true);
    expect([...outcome.results.keys()].sort()).toEqual(['shard0', 'shard1', 'shard2']);
    expect(handled.map(({ id }) => id).sort()).toEqual(['shard0', 'shard1']);
  });

  it('take effect once for repeated ids', async () => {
    await serving(['shard0', 'shard1']);
    const outcomes = await Promise.all([1, 2, 3].map(() => director.command('pause', {}, 'the-same')));
    outcomes.push(await director.command('pause', {}, 'the-same'));
    expect(outcomes.every(({ success }) => success)).toBe(true);
    expect(handled.map(({ id }) => id).sort()).toEqual(['shard0', 'shard1']);
  });

  it('take effect once even after a flushed queue', async () => {
    await serving(['shard0']);
    await director.command('pause', {}, 'the-same');
    const keys = await redis.client.keys(`{convoy:${name}}:queues:*`);
    await redis.client.del(...keys);
    expect((await director.command('pause', {}, 'the-same')).success).toBe(true);
    expect(handled).toHaveLength(1);
  });

  it('are retried after a temporary failure', async () => {
    let tries = 0;
    await serving(['shard0'], () => {
      tries += 1;
      return tries < 3 ? Promise.reject(new ConvoyError('destinationUnavailable')) : Promise.resolve(accepted);
    });
    expect((await director.command('resume', {})).success).toBe(true);
    expect(tries).toBe(3);
  });

  it('fail with the reason when it persists, and immediately for any other', async () => {
    await serving(['shard0', 'shard1'], (id) =>
      Promise.reject(id === 'shard0' ? new ConvoyError('destinationUnavailable') : new ConvoyError('cannotCommit')),
    );
    const { results } = await director.command('commit', {});
    expect(results.get('shard0')).toMatchObject({ success: false, error: 'destinationUnavailable' });
    expect(results.get('shard1')).toMatchObject({ success: false, error: 'cannotCommit' });
    expect(handled.filter(({ id }) => id === 'shard1')).toHaveLength(1);
  });

  it('time out per instance, and do not run later', async () => {
    await serving(['shard0']);
    const { fleet } = await group.join('shard1');
    const impatient = impatientDirector();
    await impatient.fleet.open();
    await until(impatient, 'both', () => impatient.snapshot().reports.size === 2);
    const outcome = await impatient.command('pause', {}, 'late');
    await impatient.fleet.close();
    expect(outcome.results.get('shard0')).toEqual(accepted);
    expect(outcome.results.get('shard1')).toMatchObject({ success: false, error: 'commandTimedOut' });
    const carriedOut: string[] = [];
    fleet.serve((command) => {
      carriedOut.push(command.commandId);
      return Promise.resolve(accepted);
    });
    await until(director, 'both', () => director.snapshot().reports.size === 2);
    expect((await director.command('resume', {}, 'in time')).success).toBe(true);
    expect(carriedOut).toEqual(['in time']);
  });

  it('that nobody answers in time are not sent to absent instances then: one limit holds for all', async () => {
    const { fleet, identity } = await group.join('shard0');
    fleet.serve(() => new Promise(() => undefined));
    fleet.report(idleReport(identity, { state: 'RUNNING', expectedIds: ['shard0', 'shard1'] }));
    const impatient = impatientDirector();
    await impatient.fleet.open();
    try {
      const expectedIds = () => impatient.snapshot().reports.get('shard0')?.report.expectedIds ?? [];
      await until(impatient, 'who is expected', () => expectedIds().length === 2);
      const { results } = await impatient.command('pause', {}, 'unanswered');
      const late = { success: false, error: 'commandTimedOut' };
      expect(Object.fromEntries(results)).toMatchObject({ shard0: late, shard1: late });
      expect(await redis.client.keys(`{convoy:${name}}:queues:commands-shard1:*`)).toEqual([]);
    } finally {
      await impatient.fleet.close();
    }
  });

  it('are rejected while no instance is registered', async () => {
    await expect(director.command('start', {})).rejects.toMatchObject({ error: 'fleetIncomplete' });
  });
});
