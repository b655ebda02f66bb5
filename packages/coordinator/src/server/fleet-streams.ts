import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import { changeBetween, type Json } from '../dashboard/change.js';
import type { FleetMessage, InstanceView } from '../dashboard/message.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { expectedIdsOf } from '../director/members.js';
import type { StreamSource } from './event-stream.js';

/** Minimum time between events of the progress: fluent to read, and little work per client. */
const EVENT_GAP_MS = 200;
/** The same for each instance, whose row is in every event: a client receives as many rows a second of any fleet. */
const EVENT_GAP_PER_INSTANCE_MS = 4;
const EVENT_BYTES_MAX = 256 * 1024;

/** What a person can read on the dashboard. */
const MESSAGE_GAP_MS = 1_000;
const MESSAGE_BYTES_MAX = 512 * 1024;

/** The data of one event `progress`. */
interface ProgressEvent {
  readonly failure: Failure | null;
  /** Its instances stand beside it. */
  readonly progress: Omit<FleetProgress, 'instances'> & { readonly instances?: undefined };
  readonly instances: readonly FleetInstance[];
}

/** The fleet's progress for clients of the contract, as events `progress`, each complete. */
export function progressSource(director: Pick<FleetDirector, 'watch' | 'progress'>): StreamSource {
  let last = '';
  return {
    clientBytesMax: EVENT_BYTES_MAX,
    watch: (listener) => director.watch(listener),
    read() {
      const { failure, progress, instances } = director.progress();
      const event: ProgressEvent = { failure, progress: { ...progress, instances: undefined }, instances };
      const data = JSON.stringify(event);
      if (data === last) return null;
      last = data;
      const gap_ms = Math.max(EVENT_GAP_MS, EVENT_GAP_PER_INSTANCE_MS * instances.length);
      return { whole: { name: 'progress', data }, gap_ms };
    },
  };
}

type WatchedFleet = Pick<FleetDirector, 'watch' | 'snapshot' | 'progress' | 'commandsSent'>;

/** The fleet for dashboards: all of it as an event `fleet`, then what differs each time as an event `change`. */
export function dashboardSource(director: WatchedFleet): StreamSource {
  let last: Json = null;
  return {
    clientBytesMax: MESSAGE_BYTES_MAX,
    watch: (listener) => director.watch(listener),
    read() {
      const text = JSON.stringify(fleetMessage(director));
      const whole = JSON.parse(text) as Json;
      const change = changeBetween(last, whole) ?? {};
      last = whole;
      return {
        whole: { name: 'fleet', data: text },
        change: { name: 'change', data: JSON.stringify(change) },
        gap_ms: MESSAGE_GAP_MS,
      };
    },
  };
}

/** The fleet for the dashboard; rates are whole numbers, so that noise in the decimals is no change. */
export function fleetMessage(director: WatchedFleet): FleetMessage {
  const { reports, leader, now_ms, isConnected } = director.snapshot();
  const { failure, progress, instances } = director.progress();
  const { instances: rows, ...fields } = progress;
  const views = (rows ?? instances).map((row): [string, InstanceView] => {
    const report = reports.get(row.id)?.report;
    const view: InstanceView = {
      ...row,
      eventsPerSecond: whole(row.eventsPerSecond),
      copyBytesPerSecond: whole(row.copyBytesPerSecond),
      stats: report?.stats ?? null,
      sourcePingMs: report?.progress.source?.pingLatencyMs ?? null,
      destinationPingMs: report?.progress.destination?.pingLatencyMs ?? null,
    };
    return [row.id, view];
  });
  return {
    now_ms,
    isConnected,
    leaderId: leader?.id ?? null,
    expectedIds: expectedIdsOf(reports),
    failure,
    progress: {
      ...fields,
      eventsPerSecond: whole(fields.eventsPerSecond),
      copyBytesPerSecond: whole(fields.copyBytesPerSecond),
    },
    instances: Object.fromEntries(views),
    commandsSent: director.commandsSent,
  };
}

function whole(rate: number | null): number | null {
  return rate === null ? null : Math.round(rate);
}
