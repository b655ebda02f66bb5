import { findRedis } from '@convoy/testbed/redis/find-redis';
import { type Benchmark, type Row, withGoal } from '../benchmark.js';
import { FleetOfSize } from './fleet-of-size.js';
import { RedisObserver, type RedisUsage } from './redis-usage.js';

const sizes = [2, 8, 64] as const;
const measuredSeconds = 15;
const commandsSent = 9;
/** Allowance for noise above a value's permitted growth with the size. */
const tolerance = 1.25;

/** Cost of one fleet size. */
interface Measured {
  size: number;
  idle: RedisUsage;
  copying: RedisUsage;
  /** Median milliseconds from the command to the last reply. */
  fanOut_ms: number;
  commandsPerFanOut: number;
}

/** Cost of instances as fleet members, without any sync. */
export const fleetBenchmark: Benchmark = {
  name: 'fleet',
  description:
    `fleets of ${sizes.join(', ')} instances in one process: fan-out of a command, and the load of Redis while ` +
    'they are idle or report',
  async run({ folder, scale, log, signal }) {
    await using redis = await findRedis(folder);
    using observer = new RedisObserver(redis.url);
    const measured: Measured[] = [];
    for (const size of sizes) {
      signal.throwIfAborted();
      log(`${size} instances`);
      await using fleet = await FleetOfSize.start(redis.url, size);
      measured.push(await measure(fleet, observer, size, Math.max(2, measuredSeconds * scale)));
    }
    const [smallest] = measured;
    return smallest === undefined ? [] : measured.flatMap((one) => rowsOf(one, smallest));
  },
};

async function measure(fleet: FleetOfSize, observer: RedisObserver, size: number, seconds: number): Promise<Measured> {
  const idle = await observer.measure(fleet.name, seconds);
  fleet.isCopying = true;
  const copying = await observer.measure(fleet.name, seconds);
  fleet.isCopying = false;
  const before = await observer.counters();
  const times_ms: number[] = [];
  for (let at = 0; at < commandsSent; at += 1) times_ms.push(await fanOut(fleet));
  const after = await observer.counters();
  times_ms.sort((left, right) => left - right);
  const fanOut_ms = times_ms[Math.floor(commandsSent / 2)] ?? 0;
  return { size, idle, copying, fanOut_ms, commandsPerFanOut: (after.commands - before.commands) / commandsSent };
}

async function fanOut({ director }: FleetOfSize): Promise<number> {
  const startedAt_ms = performance.now();
  const { success } = await director.command('pause', {});
  if (!success) throw new Error('An instance did not reply to a command.');
  return performance.now() - startedAt_ms;
}

/** Compared with the smallest fleet, nothing may grow faster than the number of instances. */
function rowsOf({ size, idle, copying, fanOut_ms, commandsPerFanOut }: Measured, smallest: Measured): Row[] {
  const growing = (metric: string, value: number, least: number, unit: string): Row =>
    withGoal(
      { case: `${size} instances`, metric, value, unit },
      '<=',
      Math.ceil(((least * size) / smallest.size) * tolerance * 10) / 10,
    );
  const ofUsage = (name: string, usage: RedisUsage, least: RedisUsage): Row[] => [
    growing(`${name}: Redis commands`, usage.commandsPerSecond, least.commandsPerSecond, '/s'),
    growing(`${name}: messages delivered`, usage.messagesPerSecond, least.messagesPerSecond, '/s'),
    {
      case: `${size} instances`,
      metric: `${name}: sent by Redis`,
      value: usage.bytesSentPerSecond / 1024,
      unit: 'KiB/s',
    },
    { case: `${size} instances`, metric: `${name}: CPU of all instances`, value: usage.cpuPercent, unit: '%' },
  ];
  return [
    growing('fan-out of a command', fanOut_ms, smallest.fanOut_ms, 'ms'),
    growing('Redis commands of a fan-out', commandsPerFanOut, smallest.commandsPerFanOut, ''),
    ...ofUsage('idle', idle, smallest.idle),
    ...ofUsage('copying', copying, smallest.copying),
  ];
}
