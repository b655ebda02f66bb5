import type { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import type { FleetMessage, InstanceView } from '../message.js';
import { byteRateText, bytesText, countText, durationText, eventRateText } from './quantity.js';
import type { Tone } from './tone.js';

/** One instance with its data flow. */
export interface InstanceRow {
  readonly id: string;
  readonly leads: boolean;
  readonly tone: Tone;
  readonly state: string;
  /** Its problems as text; empty without any. */
  readonly trouble: string;
  readonly sourceShards: string;
  readonly copyRate: string;
  readonly eventRate: string;
  /** Rates of copied data and applied changes, with their unit; empty without a migration. */
  readonly copyFlow: string;
  readonly applyFlow: string;
  readonly isCopying: boolean;
  readonly isApplying: boolean;
  readonly lag: string;
  readonly copied: string;
  readonly documents: string;
  readonly events: string;
  readonly partitions: string;
  readonly buffers: string;
  readonly pings: string;
}

export interface FleetRows {
  readonly rows: readonly InstanceRow[];
  readonly source: string;
  readonly destination: string;
  readonly destinationShards: readonly string[];
}

const problemWords: Readonly<Record<string, string>> = {
  missing: 'never registered: start it',
  silent: 'silent',
  unexpected: 'no such source shard: stop it',
  otherRelease: 'different release',
  otherClusters: 'different clusters configured',
};

/** Lag above which an instance is highlighted; a commit is rejected above it as well. */
const lagMax_seconds: typeof steadyLagMax_seconds = 30;

/** More instances than this do not fit the page: those that need attention come first. */
const rowsInOrderMax = 16;
/** What needs attention, most urgent first. */
const urgency: readonly Tone[] = ['bad', 'warning'];

/** The fleet as rows from source shards to the destination, in the order of ids. */
export function fleetRows({ instances, leaderId, progress }: FleetMessage): FleetRows {
  const all = Object.values(instances);
  const rows = all.map((instance) => rowOf(instance, leaderId));
  return {
    rows: rows.length > rowsInOrderMax ? urgentFirst(rows) : rows,
    source: progress.directionMapping?.Source ?? '',
    destination: progress.directionMapping?.Destination ?? '',
    destinationShards: [...new Set(all.flatMap(({ stats }) => stats?.destinationShards ?? []))].sort(),
  };
}

function urgentFirst(rows: readonly InstanceRow[]): InstanceRow[] {
  const urgent = urgency.map((tone) => rows.filter((row) => row.tone === tone));
  return [...urgent.flat(), ...rows.filter(({ tone }) => !urgency.includes(tone))];
}

function rowOf(instance: InstanceView, leaderId: string | null): InstanceRow {
  const { stats } = instance;
  const counts = stats?.partitions ?? { waiting: 0, starting: 0, copying: 0, done: 0 };
  const total = counts.waiting + counts.starting + counts.copying + counts.done;
  const trouble = troubleOf(instance);
  return {
    id: instance.id,
    leads: instance.id === leaderId,
    tone: rowTone(instance, trouble),
    state: instance.error === null ? (instance.state ?? 'UNKNOWN') : 'FAILED',
    trouble,
    sourceShards: stats?.sourceShards.join(', ') ?? instance.id,
    copyRate: byteRateText(instance.copyBytesPerSecond),
    eventRate: eventRateText(instance.eventsPerSecond),
    copyFlow: stats === null ? '' : flowText(byteRateText(instance.copyBytesPerSecond), 'copied'),
    applyFlow: stats === null ? '' : flowText(countText(instance.eventsPerSecond), 'changes/s'),
    isCopying: (instance.copyBytesPerSecond ?? 0) > 0,
    isApplying: (instance.eventsPerSecond ?? 0) > 0,
    lag: durationText(instance.lagTimeSeconds),
    copied: bytesText(instance.estimatedCopiedBytes),
    documents: countText(stats?.copiedDocuments),
    events: countText(instance.totalEventsApplied),
    partitions:
      total === 0
        ? '–'
        : `${countText(counts.done)} of ${countText(total)} done, ${counts.copying + counts.starting} active`,
    buffers: stats === null ? '–' : `${bytesText(stats.bufferedBytes)} of ${bytesText(stats.bufferBytesMax)}`,
    pings: pingsOf(instance),
  };
}

function flowText(rate: string, what: string): string {
  return rate === '–' ? rate : `${rate} ${what}`;
}

function pingsOf({ sourcePingMs, destinationPingMs }: InstanceView): string {
  const text = (ping: number | null): string => (ping === null ? '–' : `${ping.toFixed(1)} ms`);
  return `${text(sourcePingMs)} / ${text(destinationPingMs)}`;
}

function troubleOf(instance: InstanceView): string {
  if (instance.error !== null) return instance.error;
  const words = instance.problems.map((problem) => {
    const silence = instance.secondsSinceHeartbeat;
    return problem === 'silent' && silence !== null
      ? `no heartbeat for ${durationText(silence)}`
      : (problemWords[problem] ?? problem);
  });
  if ((instance.lagTimeSeconds ?? 0) > lagMax_seconds) words.push(`${durationText(instance.lagTimeSeconds)} behind`);
  return words.join('; ');
}

function rowTone({ error, problems, state }: InstanceView, trouble: string): Tone {
  if (error !== null) return 'bad';
  if (problems.length > 0 || trouble !== '' || state === 'PAUSED') return 'warning';
  if (state === 'COMMITTED') return 'good';
  return state === 'RUNNING' || state === 'COMMITTING' || state === 'REVERSING' ? 'active' : 'idle';
}
