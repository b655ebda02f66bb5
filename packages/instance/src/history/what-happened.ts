import type { TimelineEntry } from '@convoy/api/contract/history';
import type { FleetLook } from './fleet-look.js';

type Note = (kind: TimelineEntry['kind'], level: TimelineEntry['level'], text: string) => void;

/** The timeline entries for the differences between two looks at a fleet. */
export function whatHappened(before: FleetLook, now: FleetLook, at_ms: number): TimelineEntry[] {
  const happened: TimelineEntry[] = [];
  const note: Note = (kind, level, text) => void happened.push({ at_ms, kind, level, text });
  noteInstances(before, now, note);
  const { leaderId, state, failure } = now;
  if (leaderId !== null && leaderId !== before.leaderId)
    note('leader', 'info', `Instance ${leaderId} leads the fleet.`);
  if (state !== null && state !== before.state) {
    const level = state === 'COMMITTED' ? 'good' : 'info';
    happened.push({ at_ms, kind: 'state', level, text: `The fleet is ${state}.`, state });
  }
  noteCommon(before, now, note);
  for (const [name, description] of now.warnings)
    if (!before.warnings.has(name)) note('warning', 'warning', `Warning ${name}: ${description}`);
  for (const name of before.warnings.keys())
    if (!now.warnings.has(name)) note('warning', 'good', `Warning ${name} is over.`);
  if (failure !== null && before.failure === null)
    note('failure', 'bad', `The migration failed: ${failure.error}. ${failure.errorDescription}`);
  return happened;
}

function noteInstances(before: FleetLook, now: FleetLook, note: Note): void {
  for (const [id, { incarnation, fresh }] of now.instances) {
    const was = before.instances.get(id);
    if (was === undefined) continue;
    if (was.incarnation !== incarnation) note('instance', 'info', `Instance ${id} was restarted.`);
    else if (was.fresh && !fresh) note('instance', 'warning', `Instance ${id} has stopped reporting.`);
    else if (!was.fresh && fresh) note('instance', 'good', `Instance ${id} reports again.`);
  }
}

function noteCommon(before: FleetLook, { state, info, canCommit }: FleetLook, note: Note): void {
  if (info !== null && info !== before.info && info !== 'paused') note('phase', 'info', `Phase: ${info}.`);
  if (canCommit === true && before.canCommit !== true) note('state', 'good', 'A commit will succeed.');
  if (state === 'RUNNING' && canCommit === false && before.canCommit === true)
    note('state', 'warning', 'A commit will not succeed at present.');
}
