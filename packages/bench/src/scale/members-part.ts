import { setTimeout as delay } from 'node:timers/promises';
import { Closers } from '@convoy/testbed/closers';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { readUsage } from '../process-usage.js';
import type { RedisObserver } from './redis-observer.js';
import type { ScaleFleet } from './scale-fleet.js';
import { upperMedian, type Stat } from './scale-rows.js';
import { measurePhase, usageStats } from './usage-meter.js';

/** A client of one of a coordinator's event streams, as a dashboard or `convoy watch` is one. */
class WatchedStream implements AsyncDisposable {
  readonly #ending = new AbortController();
  readonly #reading: Promise<void>;
  /** Bytes received, and of the first complete event. */
  bytes = 0;
  firstEventBytes = 0;

  /** @param onEvent receives the data of every event, when it is given */
  constructor(url: string, onEvent?: (data: string) => void) {
    this.#reading = this.#read(url, onEvent).catch((error: unknown) => {
      if (!this.#ending.signal.aborted) throw error;
    });
  }

  async #read(url: string, onEvent?: (data: string) => void): Promise<void> {
    const response = await fetch(url, { signal: this.#ending.signal });
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of response.body ?? []) {
      this.bytes += (piece as Uint8Array).length;
      if (onEvent === undefined && this.firstEventBytes > 0) continue;
      text += decoder.decode(piece as Uint8Array, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        if (this.firstEventBytes === 0) this.firstEventBytes = event.length;
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) onEvent?.(data);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#reading;
  }
}

/** Dashboards that watch at once, after the part without any. */
const watchers = [1, 10];
const marks = 9;
/** Rounds of pause and resume. */
const rounds = 2;
const shownWithin_ms = 60_000;
const electedWithin_ms = 120_000;
/**
 * After every change of state all members read each other's reports. One host does the work of all: at least this
 * long, and this long for each member.
 */
const settle_ms = 3_000;
const settlePerMember_ms = 100;
const look_ms = 100;

/**
 * Measures a fleet whose members report and take commands, but sync nothing.
 * @param stats receives what is measured, as soon as it is: a fleet that is too large fails in the middle
 */
export async function measureMembers(
  fleet: ScaleFleet,
  observer: RedisObserver,
  seconds: number,
  stats: Stat[],
  signal: AbortSignal,
): Promise<void> {
  const { client, url } = fleet.coordinator;
  const settle = (): Promise<void> =>
    delay(Math.max(settle_ms, settlePerMember_ms * fleet.ids.length), undefined, { signal });
  await settle();
  const idle = await measurePhase(fleet, observer, seconds, signal);
  const content = await observer.content();
  stats.push(...usageStats('idle', idle), ['Redis connections', content.connections, '']);
  stats.push(
    ...(await commandStats('start', fleet, observer, () =>
      client.start({ source: 'cluster0', destination: 'cluster1' }),
    )),
  );
  await settle();
  const copying = await measurePhase(fleet, observer, seconds, signal);
  const reportBytes = await observer.reportBytes(fleet.name, fleet.ids.at(-1) ?? '');
  const during = await observer.content();
  stats.push(
    ...usageStats('copying', copying),
    ['bytes of a report', reportBytes, 'B'],
    ['Redis memory', during.memoryBytes / 1e6, 'MB'],
    ['Redis keys', during.keys, ''],
    ...(await measureDashboards(fleet, observer, seconds, copying.coordinatorCpu, signal)),
    ['a change until progress shows it', upperMedian(await measureMarks(fleet, `${url}/api/v1/events`)), 'ms'],
  );
  const later: Stat[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    later.push(await commandStats('pause', fleet, observer, () => client.pause()));
    await settle();
    later.push(await commandStats('resume', fleet, observer, () => client.resume()));
    await settle();
  }
  stats.push(
    ...medians(later.flat()),
    ...(await commandStats('commit', fleet, observer, () => client.commit())),
    ['peak memory of the coordinator', readUsage([fleet.coordinator.pid]).peakMemoryBytes / 1e6, 'MB'],
    ['peak memory of a plain member', readUsage([fleet.plain.pid]).peakMemoryBytes / 1e6, 'MB'],
    ['re-election after the leader was killed', await reelection(fleet), 'ms'],
  );
}

/** Time, CPU and connections of a command, until all have answered. */
async function commandStats(
  name: string,
  { coordinator }: ScaleFleet,
  observer: RedisObserver,
  send: () => Promise<unknown>,
): Promise<Stat[]> {
  const cpu = (): number => readUsage([coordinator.pid]).cpu_seconds;
  const before = { redis: await observer.counters(), cpu: cpu() };
  const begin_ms = performance.now();
  const done = new AbortController();
  const connections = mostConnections(observer, done.signal);
  await send().finally(() => done.abort());
  const took_ms = performance.now() - begin_ms;
  const after = { redis: await observer.counters(), cpu: cpu() };
  return [
    [`${name}: until all have answered`, took_ms, 'ms'],
    [`${name}: CPU of the coordinator`, (after.cpu - before.cpu) * 1000, 'ms'],
    [`${name}: Redis connections`, await connections, ''],
  ];
}

async function mostConnections(observer: RedisObserver, done: AbortSignal): Promise<number> {
  let most = 0;
  while (!done.aborted) {
    most = Math.max(most, (await observer.content()).connections);
    await delay(look_ms);
  }
  return most;
}

function medians(stats: readonly Stat[]): Stat[] {
  const names = [...new Set(stats.map(([metric]) => metric))];
  return names.map((metric): Stat => {
    const same = stats.filter(([name]) => name === metric);
    return [metric, upperMedian(same.map(([, value]) => value)), same[0]?.[2] ?? ''];
  });
}

/** CPU that watching dashboards add, and what each receives. */
async function measureDashboards(
  fleet: ScaleFleet,
  observer: RedisObserver,
  seconds: number,
  without: number,
  signal: AbortSignal,
): Promise<Stat[]> {
  const stats: Stat[] = [];
  for (const count of watchers) {
    await using streams = new Closers();
    const opened = Array.from({ length: count }, () =>
      streams.use(new WatchedStream(`${fleet.coordinator.url}/api/v1/watch`)),
    );
    await pollUntil('dashboards have their first event', shownWithin_ms, () =>
      opened.every(({ firstEventBytes }) => firstEventBytes > 0),
    );
    const before = opened[0]?.bytes ?? 0;
    const begin_ms = performance.now();
    const { coordinatorCpu } = await measurePhase(fleet, observer, seconds, signal);
    const passed = (performance.now() - begin_ms) / 1000;
    stats.push([`${count} dashboards: CPU they add to the coordinator`, (coordinatorCpu - without) * 100, '%']);
    if (count > 1) continue;
    stats.push(
      ['dashboard: first message', (opened[0]?.firstEventBytes ?? 0) / 1000, 'kB'],
      ['dashboard: changes', ((opened[0]?.bytes ?? 0) - before) / passed / 1000, 'kB/s'],
    );
  }
  return stats;
}

/** Milliseconds from a member's change to the event of the coordinator that shows it. */
async function measureMarks({ plain }: ScaleFleet, eventsUrl: string): Promise<number[]> {
  const shownAt = new Map<string, { events: number; at_ms: number }>();
  await using stream = new WatchedStream(eventsUrl, (data) => {
    const { instances } = JSON.parse(data) as { instances: { id: string; totalEventsApplied: number | null }[] };
    for (const { id, totalEventsApplied } of instances)
      if ((shownAt.get(id)?.events ?? -1) < (totalEventsApplied ?? 0))
        shownAt.set(id, { events: totalEventsApplied ?? 0, at_ms: Date.now() });
  });
  await pollUntil('the first event', shownWithin_ms, () => stream.firstEventBytes > 0);
  const times: number[] = [];
  for (let nth = 0; nth < marks; nth += 1) {
    const mark = await plain.mark();
    times.push(
      await pollUntil('progress shows a change', shownWithin_ms, () => {
        const shown = shownAt.get(mark.id);
        return shown !== undefined && shown.events >= mark.totalEventsApplied && shown.at_ms - mark.at_ms;
      }),
    );
  }
  return times;
}

/** Milliseconds from the death of the leader until the coordinator names another. */
async function reelection({ coordinator, leader, ids }: ScaleFleet): Promise<number> {
  const begin_ms = performance.now();
  await leader.kill();
  await pollUntil('another member leads', electedWithin_ms, async () => {
    const { progress } = await coordinator.client.progress();
    return progress.coordinatorID !== null && progress.coordinatorID !== ids[0];
  });
  return performance.now() - begin_ms;
}
