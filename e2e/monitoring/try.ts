import { setTimeout as delay } from 'node:timers/promises';
import type { Condition } from './conditions.js';
import type { MonitoredFleet } from './monitored-fleet.js';
import type { Prometheus } from './prometheus.js';

/** What Prometheus made of a condition. */
export interface Outcome {
  readonly what: string;
  /** Seconds after the condition began; null for what did not happen. */
  readonly alerts: readonly {
    readonly alert: string;
    readonly pending: number | null;
    readonly firing: number | null;
  }[];
  /** Seconds from the end of the condition until all alerts were silent; null when they were not. */
  readonly silent: number | null;
  /** Nothing ended the condition. */
  readonly stays: boolean;
}

/** For alerts whose minutes are seconds, on a machine under load. */
const within_ms = 180_000;
const poll_ms = 250;
/** Until a state that was seen once stands in the history, whose points are a second apart. */
const settled_ms = 2_000;

/** Makes a condition, waits until its alerts fire, ends it, and waits until all alerts are silent. */
export async function tryCondition(
  { what, alerts, stays = false, make }: Condition,
  monitored: MonitoredFleet,
  prometheus: Prometheus,
): Promise<Outcome> {
  const ofFleet = `ALERTS{fleet="${monitored.name}", scale="seconds"`;
  const firing = async (): Promise<ReadonlySet<string>> =>
    new Set((await prometheus.query(`${ofFleet}, alertstate="firing"}`)).map(({ alertname = '' }) => alertname));
  const begin = now_seconds();
  const undo = await make(monitored);
  await within(async () => {
    const present = await firing();
    return alerts.every((alert) => present.has(alert));
  });
  const ended = now_seconds();
  await undo();
  const isSilent = !stays && (await within(async () => (await firing()).size === 0));
  const end = now_seconds();
  await delay(settled_ms);
  const series = await prometheus.queryRange(`${ofFleet}}`, begin, now_seconds());
  const first = (alert: string, state: string): number | null => {
    const times = series
      .filter(({ metric }) => metric['alertname'] === alert && metric['alertstate'] === state)
      .map(({ values }) => values[0]?.[0] ?? Infinity);
    return times.length === 0 ? null : Math.min(...times) - begin;
  };
  return {
    what,
    alerts: alerts.map((alert) => ({ alert, pending: first(alert, 'pending'), firing: first(alert, 'firing') })),
    stays,
    silent: isSilent ? end - ended : null,
  };
}

async function within(check: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  while (performance.now() < deadline) {
    if (await check()) return true;
    await delay(poll_ms);
  }
  return false;
}

/** Since 1970, as Prometheus counts. */
export function now_seconds(): number {
  return Date.now() / 1000;
}
