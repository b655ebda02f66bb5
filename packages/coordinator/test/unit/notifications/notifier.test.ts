import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import type { TimeSource } from '@convoy/api/time/time-source';
import type { FleetSnapshot } from '../../../src/director/members.js';
import type { Notification } from '../../../src/notifications/notification.js';
import { DELIVERY_ATTEMPTS_MAX, Notifier, type NotifierDependencies } from '../../../src/notifications/notifier.js';
import { DELIVERIES_MAX, MemoryOutbox } from '../../../src/notifications/outbox.js';
import type { Outcome, Receiver } from '../../../src/notifications/post-notification.js';
import { NOW_MS, type ReportChanges, snapshot } from '../director/snapshots.js';

/** A clock that tests move. */
class VirtualClock implements TimeSource {
  #passed_ms = 0;

  now_ms(): number {
    return NOW_MS + this.#passed_ms;
  }

  monotonic_ms(): number {
    return this.#passed_ms;
  }

  pass(ms: number): void {
    this.#passed_ms += ms;
  }
}

const running: ReportChanges = { state: 'RUNNING', progress: { info: 'change event application', lagTimeSeconds: 1 } };
const lagging: ReportChanges = { ...running, progress: { ...running.progress, lagTimeSeconds: 301 } };

/** Notifiers of one fleet with one outbox, whose receivers answer what a test wants. */
class Scenario {
  readonly clock = new VirtualClock();
  readonly outbox = new MemoryOutbox(this.clock);
  readonly sent: { receiver: string; notification: Notification; at_ms: number }[] = [];
  readonly counted: string[] = [];
  readonly logged: Record<string, unknown>[] = [];
  fleet: FleetSnapshot = snapshot({ a: running });
  answer: (receiver: string) => Promise<Outcome> = () => Promise.resolve({ result: 'sent', reason: 'HTTP 204' });

  notifier(receivers: readonly Partial<Receiver>[] = [{}], changes: Partial<NotifierDependencies> = {}): Notifier {
    return new Notifier({
      fleet: 'shop',
      settings: {
        dashboardUrl: 'https://convoy.example/',
        lag: { raise_seconds: 300, clear_seconds: 60 },
        oplog: { raise_seconds: 3_600, clear_seconds: 7_200 },
      },
      receivers: receivers.map((one) => ({
        name: 'pager',
        url: new Secret('http://pager.example/secret-path'),
        secret: new Secret('0123456789abcdef'),
        ca: undefined,
        events: ['ready', 'committed', 'failed', 'lag', 'oplog'],
        ...one,
      })),
      outbox: this.outbox,
      snapshot: () => this.fleet,
      post: (receiver, notification) => {
        this.sent.push({ receiver: receiver.name, notification, at_ms: this.clock.monotonic_ms() });
        return this.answer(receiver.name);
      },
      count: (event, result) => this.counted.push(`${event} ${result}`),
      clock: this.clock,
      logger: pino(
        { level: 'info' },
        { write: (line) => this.logged.push(JSON.parse(line) as Record<string, unknown>) },
      ),
      random: () => 0,
      ...changes,
    });
  }
}

/** Looks every second for the given time. */
async function run(scenario: Scenario, notifier: Notifier, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await notifier.look();
    await notifier.idle();
    scenario.clock.pass(1_000);
  }
}

describe('Notifier', () => {
  it('says what happened, what to do next and where to look', async () => {
    const scenario = new Scenario();
    scenario.fleet = snapshot({ a: lagging });
    await run(scenario, scenario.notifier(), 1);
    expect(scenario.sent[0]?.notification).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      event: 'lag',
      status: 'raised',
      fleet: 'shop',
      time: new Date(NOW_MS).toISOString(),
      state: 'RUNNING',
      summary: 'The lag of fleet shop is above 300 s. It is 301 s now.',
      next: 'Give the destination more capacity, raise applyWorkers, or reduce writes on the source.',
      dashboard: 'https://convoy.example/',
    });
  });

  it('asks for silent instances to be started, once it has listened long enough after a loss of Redis', async () => {
    const scenario = new Scenario();
    const notifier = scenario.notifier();
    const silent = snapshot({ a: { ...running, fresh: false, silent_ms: 500_000 } });
    scenario.fleet = snapshot({ a: running });
    await run(scenario, notifier, 100);
    scenario.fleet = { ...silent, isConnected: false };
    await run(scenario, notifier, 500);
    scenario.fleet = silent;
    await run(scenario, notifier, 60);
    expect(scenario.sent).toEqual([]);
    await run(scenario, notifier, 1);
    expect(scenario.sent.map(({ notification: { summary, next } }) => [summary, next])).toEqual([
      [
        'The lag of fleet shop is above 300 s. It is 501 s now.',
        'Instances are silent: start them again. convoy progress names them.',
      ],
    ]);
  });

  it('sends an event once to each receiver that asks for it, from any number of notifiers', async () => {
    const scenario = new Scenario();
    const receivers = [{ name: 'pager' }, { name: 'chat' }, { name: 'board', events: ['ready'] as const }];
    const [one, other] = [scenario.notifier(receivers), scenario.notifier(receivers)];
    scenario.fleet = snapshot({ a: lagging });
    await Promise.all([one.look(), other.look()]);
    await Promise.all([one.idle(), other.idle()]);
    await run(scenario, one, 5);
    await run(scenario, other, 5);
    expect(scenario.sent.map(({ receiver }) => receiver)).toEqual(['pager', 'chat']);
    expect(new Set(scenario.sent.map(({ notification }) => notification.id)).size).toBe(1);
    expect(scenario.counted).toEqual(['lag sent', 'lag sent']);
  });

  it('repeats an attempt after growing pauses, with the same id, and gives up by name', async () => {
    const scenario = new Scenario();
    scenario.answer = () => Promise.resolve({ result: 'retry', reason: 'HTTP 500', after_ms: 0 });
    scenario.fleet = snapshot({ a: lagging });
    await run(scenario, scenario.notifier(), 1_000);
    const pauses_ms = scenario.sent.slice(1).map(({ at_ms }, at) => at_ms - (scenario.sent[at]?.at_ms ?? 0));
    expect(pauses_ms).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, ...Array<number>(6).fill(60_000)]);
    expect(scenario.sent).toHaveLength(DELIVERY_ATTEMPTS_MAX);
    expect(new Set(scenario.sent.map(({ notification }) => notification.id)).size).toBe(1);
    expect(scenario.counted.at(-1)).toBe('lag abandoned');
    expect(scenario.logged.at(-1)).toMatchObject({
      event: 'notificationAbandoned',
      receiver: 'pager',
      reason: 'HTTP 500',
    });
    expect(await scenario.outbox.waiting()).toEqual([]);
  });

  it('waits as long as a receiver asks for, up to ten minutes', async () => {
    const scenario = new Scenario();
    const pauses_ms = [90_000, 86_400_000];
    scenario.answer = () => Promise.resolve({ result: 'retry', reason: 'HTTP 429', after_ms: pauses_ms.shift() ?? 0 });
    scenario.fleet = snapshot({ a: lagging });
    await run(scenario, scenario.notifier(), 700);
    expect(scenario.sent.map(({ at_ms }) => at_ms)).toEqual([0, 90_000, 690_000, 698_000]);
  });

  it('does not repeat what a receiver refuses', async () => {
    const scenario = new Scenario();
    scenario.answer = () => Promise.resolve({ result: 'refused', reason: 'HTTP 404' });
    scenario.fleet = snapshot({ a: lagging });
    await run(scenario, scenario.notifier(), 100);
    expect(scenario.counted).toEqual(['lag refused']);
    expect(scenario.logged).toMatchObject([{ event: 'notificationRefused', what: 'lag', reason: 'HTTP 404' }]);
  });

  it('a receiver that hangs delays no other one', async () => {
    const scenario = new Scenario();
    let release = (): void => undefined;
    const accepted: Outcome = { result: 'sent', reason: 'HTTP 200' };
    const hanging = new Promise<Outcome>((resolve) => (release = () => resolve(accepted)));
    scenario.answer = (receiver) => (receiver === 'hangs' ? hanging : Promise.resolve(accepted));
    scenario.fleet = snapshot({ a: lagging });
    const notifier = scenario.notifier([{ name: 'hangs' }, { name: 'pager' }]);
    await notifier.look();
    scenario.fleet = snapshot({ a: running });
    await notifier.look();
    release();
    await notifier.idle();
    await notifier.look();
    expect(scenario.sent.map(({ receiver, notification }) => `${receiver} ${notification.status}`)).toEqual([
      'hangs raised',
      'pager raised',
      'pager cleared',
      'hangs cleared',
    ]);
  });

  it('leaves an attempt that its end interrupts to its successor', async () => {
    const scenario = new Scenario();
    const first = scenario.notifier([{}], {
      post: (_receiver, _notification, _now_ms, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('interrupted')))),
    });
    scenario.fleet = snapshot({ a: lagging });
    await first.look();
    await first.stop();
    await run(scenario, scenario.notifier(), 1);
    expect(scenario.counted).toEqual(['lag sent']);
  });

  it('attempts again what a process did not finish before it died', async () => {
    const scenario = new Scenario();
    const first = scenario.notifier([{}], { post: () => new Promise(() => undefined) });
    scenario.fleet = snapshot({ a: lagging });
    await first.look();
    await run(scenario, scenario.notifier(), 20);
    expect(scenario.sent).toEqual([]);
    await run(scenario, scenario.notifier(), 1);
    expect(scenario.counted).toEqual(['lag sent']);
  });

  it('drops what finds no room, by name', async () => {
    const scenario = new Scenario();
    scenario.answer = () => Promise.resolve({ result: 'retry', reason: 'ECONNREFUSED', after_ms: 600_000 });
    const notifier = scenario.notifier();
    for (let toggle = 0; toggle <= DELIVERIES_MAX; toggle += 1) {
      scenario.fleet = snapshot({ a: toggle % 2 === 0 ? lagging : running });
      await notifier.look();
      await notifier.idle();
    }
    expect(await scenario.outbox.waiting()).toHaveLength(DELIVERIES_MAX);
    expect(scenario.counted.filter((one) => one.endsWith('dropped'))).toEqual(['lag dropped']);
    expect(scenario.logged).toContainEqual(expect.objectContaining({ event: 'notificationDropped' }));
  });

  it('gives up deliveries of receivers that nobody has configured any more, after an hour', async () => {
    const scenario = new Scenario();
    scenario.fleet = snapshot({ a: lagging });
    scenario.answer = () => Promise.resolve({ result: 'retry', reason: 'HTTP 500', after_ms: 0 });
    await run(scenario, scenario.notifier([{ name: 'former' }]), 1);
    const successor = scenario.notifier([{ name: 'present' }]);
    await run(scenario, successor, 10);
    expect(await scenario.outbox.waiting()).toHaveLength(1);
    scenario.clock.pass(3_600_000);
    await run(scenario, successor, 1);
    expect(await scenario.outbox.waiting()).toEqual([]);
    expect(scenario.counted.at(-1)).toBe('lag abandoned');
  });

  it('logs neither addresses nor secrets', async () => {
    const scenario = new Scenario();
    scenario.fleet = snapshot({ a: lagging });
    await run(scenario, scenario.notifier(), 1);
    expect(JSON.stringify(scenario.logged)).not.toMatch(/secret-path|pager\.example|0123456789abcdef/);
  });
});
