import { afterEach, beforeEach, expect, it } from 'vitest';
import { notifySchema } from '@convoy/api/configuration/notify-settings';
import { nextStepAfterFailure } from '@convoy/api/contract/next-step';
import { progressInfo } from '@convoy/api/contract/progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { parseCoordinatorConfig, type CoordinatorConfig } from '../../src/config/coordinator-config.js';
import { runCoordinator, type RunningCoordinator } from '../../src/process/coordinator-process.js';
import { EventLog, shortTimings, silent, TestMembers, type TestMember } from './fleet-of-tests.js';
import { NotificationReceiver, receiverSecret } from './notification-receiver.js';
import { describeOnRedis, fleetName } from './redis-server.js';

describeOnRedis('notifications', (redis) => {
  let receiver: NotificationReceiver;
  let members: TestMembers;
  let member: TestMember;
  let config: CoordinatorConfig;
  const coordinators: RunningCoordinator[] = [];

  beforeEach(async () => {
    receiver = await NotificationReceiver.start();
    const fleet = fleetName();
    const notify = notifySchema.parse({ receivers: [{ name: 'pager', url: receiver.url, secret: receiverSecret }] });
    config = {
      ...parseCoordinatorConfig({ flags: { redis: 'redis://unused', fleet, port: 0 } }),
      redis: redis.settings,
      notify,
    };
    members = new TestMembers(redis.settings, fleet);
    member = await members.join('shard0');
  });
  afterEach(async () => {
    await Promise.all(coordinators.splice(0).map((coordinator) => coordinator.close()));
    await members.end();
    receiver.close();
  });

  async function start(logger = silent): Promise<RunningCoordinator> {
    const coordinator = await runCoordinator(config, { logger, timings: shortTimings });
    coordinators.push(coordinator);
    return coordinator;
  }

  function reportReady(): void {
    const { fleet, identity } = member;
    const progress = { ...idleReport(identity).progress, state: 'RUNNING', canCommit: true } as const;
    fleet.report(idleReport(identity, { state: 'RUNNING', ready: { canCommit: true, canWrite: false }, progress }));
  }

  function reportCommitted(): void {
    const { fleet, identity } = member;
    const progress = { ...idleReport(identity).progress, state: 'COMMITTED', canWrite: true } as const;
    fleet.report(idleReport(identity, { state: 'COMMITTED', ready: { canCommit: false, canWrite: true }, progress }));
  }

  const events = (): string[] => receiver.arrivals.map(({ event }) => event);

  /** The sum of both coordinators' metric. */
  async function sent(event: string): Promise<number> {
    const texts = await Promise.all(coordinators.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    const series = new RegExp(`^convoy_notifications_total\\{event="${event}",result="sent"\\} (\\d+)$`, 'm');
    return texts.map((text) => Number(series.exec(text)?.[1] ?? 0)).reduce((sum, count) => sum + count, 0);
  }

  it('come once each from two coordinators, signed, in the order of the events', async () => {
    await Promise.all([start(), start()]);
    reportReady();
    await expect.poll(events).toEqual(['ready']);
    reportCommitted();
    await expect.poll(events).toEqual(['ready', 'committed']);
    expect(receiver.arrivals.every(({ isSigned }) => isSigned)).toBe(true);
    expect(receiver.arrivals[0]?.body).toMatchObject({
      state: 'RUNNING',
      next: 'Stop the writers of the source, then run convoy commit.',
    });
    await expect.poll(() => sent('committed')).toBe(1);
    await expect.poll(() => sent('ready')).toBe(1);
  });

  it('are a lag and a short oplog when they begin and when they end, and a failure with its reason', async () => {
    await start();
    const report = (seconds: { lag: number; oplog: number }, failure: Failure | null = null): void => {
      const { fleet, identity } = member;
      const info = progressInfo.changeEventApplication;
      const running = { ...idleReport(identity).progress, state: 'RUNNING', info } as const;
      const progress = { ...running, lagTimeSeconds: seconds.lag };
      const oplogRemaining_seconds = seconds.oplog;
      fleet.report(idleReport(identity, { state: 'RUNNING', failure, progress, oplogRemaining_seconds }));
    };
    const statuses = (): string[] => receiver.arrivals.map(({ event, body }) => `${event} ${String(body['status'])}`);
    report({ lag: 301, oplog: 90_000 });
    await expect.poll(statuses).toEqual(['lag raised']);
    // One after the other: what one report shows at once is sent in any order.
    report({ lag: 60, oplog: 90_000 });
    await expect.poll(statuses).toEqual(['lag raised', 'lag cleared']);
    report({ lag: 60, oplog: 3_599 });
    await expect.poll(statuses).toEqual(['lag raised', 'lag cleared', 'oplog raised']);
    report({ lag: 60, oplog: 7_200 });
    await expect.poll(statuses).toEqual(['lag raised', 'lag cleared', 'oplog raised', 'oplog cleared']);
    report({ lag: 60, oplog: 7_200 }, { error: 'oplogHistoryLost', errorDescription: 'The oplog is too short.' });
    await expect.poll(statuses).toHaveLength(5);
    expect(receiver.arrivals.every(({ isSigned }) => isSigned)).toBe(true);
    expect(receiver.arrivals.map(({ body }) => body)).toMatchObject([
      { summary: expect.stringContaining('is above 300 s. It is 301 s now.') as string },
      { next: 'Nothing to do.' },
      { next: expect.stringMatching(/^Resume the migration, reduce its load/) as string },
      { next: 'Nothing to do.' },
      {
        event: 'failed',
        status: 'raised',
        summary: expect.stringContaining('failed. oplogHistoryLost: The oplog is too short.') as string,
        next: nextStepAfterFailure,
      },
    ]);
  });

  it('are not repeated by a coordinator that starts later', async () => {
    const before = new EventLog();
    const first = await start(before.logger);
    reportReady();
    // A coordinator that ends before it has recorded the reply leaves the notification to the next one.
    await before.until('notificationSent');
    await first.close();
    const log = new EventLog();
    await start(log.logger);
    reportCommitted();
    await log.until('notificationSent');
    expect(events()).toEqual(['ready', 'committed']);
  });

  it('that a receiver does not accept are sent again with the same id, also by another coordinator', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    const log = new EventLog();
    const first = await start(log.logger);
    reportReady();
    await log.until('notificationRetried');
    await first.close();
    receiver.answer = (response) => void response.writeHead(204).end();
    const successors = new EventLog();
    await start(successors.logger);
    await successors.until('notificationSent');
    expect(new Set(receiver.arrivals.map(({ delivery }) => delivery)).size).toBe(1);
    expect(events()).toEqual(['ready', 'ready']);
  });

  it('leave no secret and no address in Redis', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    const log = new EventLog();
    await start(log.logger);
    reportReady();
    await log.until('notificationRetried');
    const stored = await redis.client.hvals(`{convoy:${config.fleet}}:deliveries`);
    expect(stored).toHaveLength(1);
    expect(stored.join()).not.toContain(receiverSecret);
    expect(stored.join()).not.toContain(new URL(receiver.url).host);
  });
});
