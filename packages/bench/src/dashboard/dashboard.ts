import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, CDPSession } from 'playwright-core';
import { startBrowser } from '@convoy/testbed/browser/browser';
import { findRedis } from '@convoy/testbed/redis/find-redis';
import { type Benchmark, type BenchmarkContext, type Row, withGoal, rowMaker } from '../benchmark.js';
import { readUsage } from '../process-usage.js';
import { StagedFleet } from './staged-fleet.js';

const instanceCounts = [2, 16, 64];
const namespaceCounts = [10, 500, 5_000];
/** Measured seconds per size. */
const watched_seconds = 20;
const firstMessageWithin_ms = 60_000;

/** Measurements of one page. */
interface PageStats {
  /** Milliseconds of each update. */
  updates: number[];
  heapBytes: number;
}

/** The page's update time, memory and stream size, and the coordinator's cost. */
export const dashboardBenchmark: Benchmark = {
  name: 'dashboard',
  description: 'the dashboard with 2, 16 and 64 instances and 10, 500 and 5,000 collections',
  async run(context) {
    await using redis = await findRedis(context.folder);
    const browser = await startBrowser();
    try {
      const rows: Row[] = [];
      for (const instances of instanceCounts) {
        for (const namespaces of namespaceCounts)
          rows.push(...(await measure(browser, redis.url, instances, namespaces, context)));
      }
      return rows;
    } finally {
      await browser.close();
    }
  },
};

async function measure(
  browser: Browser,
  redis: string,
  instances: number,
  namespaces: number,
  { folder, scale, log, signal }: BenchmarkContext,
): Promise<Row[]> {
  const name = `${instances} instances, ${namespaces} collections`;
  log(name);
  signal.throwIfAborted();
  await using fleet = await StagedFleet.start(redis, instances, namespaces, folder);
  const page = await browser.newPage();
  try {
    await page.goto(fleet.coordinator.url);
    await page.locator('body:not([data-stale])').waitFor({ timeout: firstMessageWithin_ms });
    for (const filled of ['#timeline li', '#namespaces tbody tr'])
      await page.locator(filled).first().waitFor({ timeout: firstMessageWithin_ms });
    const seconds = Math.max(3, watched_seconds * scale);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const busyBefore_seconds = await mainThread_seconds(session);
    const coordinatorBefore = readUsage([fleet.coordinator.pid]);
    await page.evaluate('performance.clearMeasures("update")');
    const [bytes] = await Promise.all([
      streamBytes(fleet.coordinator.url, seconds),
      delay(seconds * 1000, undefined, { signal }),
    ]);
    // The program for the page is a text, since browser objects have no types here.
    const stats: PageStats = await page.evaluate(
      '({updates: performance.getEntriesByName("update").map(({duration}) => duration), heapBytes: ' +
        'performance.memory.usedJSHeapSize})',
    );
    const busy_seconds = (await mainThread_seconds(session)) - busyBefore_seconds;
    const coordinator = readUsage([fleet.coordinator.pid]);
    const rows: [metric: string, value: number, unit: string, bound?: number][] = [
      ['update by the program, median', quantile(stats.updates, 0.5), 'ms'],
      ['update by the program, 95 of 100', quantile(stats.updates, 0.95), 'ms', 100],
      ['update with layout and drawing, mean', (busy_seconds / stats.updates.length) * 1000, 'ms', 100],
      ['memory of the page', stats.heapBytes / 1e6, 'MB', 150],
      ['event stream', bytes / seconds / 1000, 'kB/s', 50],
      ['coordinator, CPU', ((coordinator.cpu_seconds - coordinatorBefore.cpu_seconds) / seconds) * 100, '%'],
      ['coordinator, peak memory', coordinator.peakMemoryBytes / 1e6, 'MB'],
    ];
    const isLargest = instances === instanceCounts.at(-1) && namespaces === namespaceCounts.at(-1);
    return rows.map(([metric, value, unit, bound]) => {
      const row: Row = rowMaker(name)(metric, value, unit);
      return isLargest && bound !== undefined ? withGoal(row, '<=', bound) : row;
    });
  } finally {
    await page.close();
  }
}

/** Busy seconds of the page's main thread: scripts, styles, layout and painting. */
async function mainThread_seconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
}

/** Bytes that a second client receives in this many seconds, including the first complete message. */
async function streamBytes(url: string, seconds: number): Promise<number> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), seconds * 1000);
  let bytes = 0;
  try {
    const response = await fetch(`${url}/api/v1/watch`, { signal: ending.signal });
    for await (const piece of response.body ?? []) bytes += (piece as Uint8Array).length;
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return bytes;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
