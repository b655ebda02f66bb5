import type { FleetMessage, InstanceView } from '../dashboard/message.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { expectedIdsOf } from '../progress/members.js';

/** The fleet for the dashboard; rates are whole numbers, so that noise in the decimals is no change. */
export function fleetMessage(director: Pick<FleetDirector, 'snapshot' | 'progress' | 'commandsSent'>): FleetMessage {
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
