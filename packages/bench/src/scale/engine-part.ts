import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '@convoy/api/contract/progress';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { readUsage } from '../process-usage.js';
import type { EngineClusters } from './engine-clusters.js';
import type { MetadataCalls } from './member-order.js';
import type { RedisObserver } from './redis-observer.js';
import type { ScaleFleet } from './scale-fleet.js';
import type { Stat } from './scale-rows.js';
import { measurePhase, usageStats } from './usage-meter.js';

/** Many engines and both clusters share one host. */
const stateWithin_ms = 900_000;
const settle_ms = 12_000;

/**
 * Measures a fleet of engines from the start to the commit of a small migration.
 * @param stats receives what is measured, as soon as it is
 */
export async function measureEngines(
  fleet: ScaleFleet,
  clusters: EngineClusters,
  observer: RedisObserver,
  seconds: number,
  stats: Stat[],
  signal: AbortSignal,
): Promise<void> {
  const { client } = fleet.coordinator;
  const until = (what: string, holds: (progress: Progress) => boolean): Promise<number> =>
    timed(() =>
      pollUntil(what, stateWithin_ms, async () => holds((await client.progress({ signal })).progress), signal),
    );
  await until('all are idle', ({ state }) => state === 'IDLE');
  const command = async (name: string, send: () => Promise<unknown>): Promise<Stat> => [
    `${name}: until all have answered`,
    await timed(send),
    'ms',
  ];
  const begin_ms = performance.now();
  stats.push(await command('start', () => client.start({ source: 'cluster0', destination: 'cluster1' })));
  await until('a commit would be taken', ({ canCommit }) => canCommit);
  stats.push(['start until a commit would be taken', performance.now() - begin_ms, 'ms']);
  clusters.startUsers();
  await delay(settle_ms, undefined, { signal });
  stats.push(
    ['bytes of a report', await observer.reportBytes(fleet.name, fleet.ids.at(-1) ?? ''), 'B'],
    ...(await steadyStats(fleet, clusters, observer, seconds, signal)),
  );
  const calls = await metadataCalls(fleet);
  await clusters.rename();
  stats.push([
    'a rename until the destination has it',
    await timed(() => pollUntil('the collection is renamed', stateWithin_ms, () => clusters.isRenamed(), signal)),
    'ms',
  ]);
  stats.push(['a rename: metadata writes', writesOf(await metadataCalls(fleet)) - writesOf(calls), '']);
  stats.push(await command('pause', () => client.pause()), await command('resume', () => client.resume()));
  clusters.stopUsers();
  await until('a commit would be taken again', ({ canCommit }) => canCommit);
  stats.push(
    await command('commit', () => client.commit()),
    ['commit until all are committed', await until('all are committed', ({ state }) => state === 'COMMITTED'), 'ms'],
    ['peak memory of the coordinator', readUsage([fleet.coordinator.pid]).peakMemoryBytes / 1e6, 'MB'],
    ['peak memory of the leader', readUsage([fleet.leader.pid]).peakMemoryBytes / 1e6, 'MB'],
    ['peak memory of a plain member', readUsage([fleet.plain.pid]).peakMemoryBytes / 1e6, 'MB'],
  );
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begin_ms = performance.now();
  await run();
  return performance.now() - begin_ms;
}

/** All changes applied, a few updates a second: what fleet, metadata database and the clusters' processes do. */
async function steadyStats(
  fleet: ScaleFleet,
  { source, destination }: EngineClusters,
  observer: RedisObserver,
  seconds: number,
  signal: AbortSignal,
): Promise<Stat[]> {
  const cpu = (): number[] => [source, destination].map(({ pids }) => readUsage(pids).cpu_seconds);
  const before = { calls: await metadataCalls(fleet), cpu: cpu(), at_ms: performance.now() };
  const usage = await measurePhase(fleet, observer, seconds, signal);
  const after = { calls: await metadataCalls(fleet), cpu: cpu(), at_ms: performance.now() };
  const passed = (after.at_ms - before.at_ms) / 1_000;
  const cpuOf = (at: number): number => (((after.cpu[at] ?? 0) - (before.cpu[at] ?? 0)) / passed) * 100;
  const names = Object.keys(after.calls.commands).toSorted();
  return [
    ...usageStats('steady', usage),
    ['steady: metadata writes', (writesOf(after.calls) - writesOf(before.calls)) / passed, '1/s'],
    ['steady: metadata read', (after.calls.bytesRead - before.calls.bytesRead) / passed / 1_000, 'kB/s'],
    ...names.flatMap((name): Stat[] => {
      const calls = (after.calls.commands[name] ?? 0) - (before.calls.commands[name] ?? 0);
      return calls === 0 ? [] : [[`steady: ${name}`, calls / passed, '1/s']];
    }),
    ['steady: CPU of the simulated source', cpuOf(0), '%'],
    ['steady: CPU of the simulated destination', cpuOf(1), '%'],
  ];
}

/** Of all members together. */
async function metadataCalls({ members }: ScaleFleet): Promise<MetadataCalls> {
  const states = await Promise.all(members.map((member) => member.state()));
  const commands: Record<string, number> = {};
  for (const { metadata } of states)
    for (const [name, calls] of Object.entries(metadata.commands)) commands[name] = (commands[name] ?? 0) + calls;
  return { commands, bytesRead: states.reduce((sum, { metadata }) => sum + metadata.bytesRead, 0) };
}

function writesOf({ commands }: MetadataCalls): number {
  return Object.entries(commands)
    .filter(([name]) => /^(insert|update|delete|findAndModify) /.test(name))
    .reduce((sum, [, calls]) => sum + calls, 0);
}
