import type { TimelineEntry } from '@convoy/api/contract/history';
import type { FleetLook } from './fleet-look.js';

type Happened = Omit<TimelineEntry, 'at_ms'>;

/** The timeline entries for the differences between two looks at a fleet. */
export function whatHappened(before: FleetLook, now: FleetLook, at_ms: number): TimelineEntry[] {
  const happened = [
    ...ofInstances(before, now),
    ...ofLeader(before, now),
    ...ofState(before, now),
    ...ofWarnings(before, now),
    ...ofFailure(before, now),
  ];
  return happened.map((one) => ({ at_ms, ...one }));
}

function ofInstances(before: FleetLook, now: FleetLook): Happened[] {
  const happened: Happened[] = [];
  for (const [id, { incarnation, fresh }] of now.instances) {
    const was = before.instances.get(id);
    if (was === undefined) continue;
    if (was.incarnation !== incarnation)
      happened.push({ kind: 'instance', level: 'info', text: `Instance ${id} was restarted.` });
    else if (was.fresh && !fresh)
      happened.push({ kind: 'instance', level: 'warning', text: `Instance ${id} has stopped reporting.` });
    else if (!was.fresh && fresh)
      happened.push({ kind: 'instance', level: 'good', text: `Instance ${id} reports again.` });
  }
  return happened;
}

function ofLeader({ leaderId: before }: FleetLook, { leaderId }: FleetLook): Happened[] {
  return leaderId === null || leaderId === before
    ? []
    : [{ kind: 'leader', level: 'info', text: `Instance ${leaderId} leads the fleet.` }];
}

function ofState(before: FleetLook, now: FleetLook): Happened[] {
  const happened: Happened[] = [];
  if (now.state !== null && now.state !== before.state) {
    happened.push({
      kind: 'state',
      level: now.state === 'COMMITTED' ? 'good' : 'info',
      text: `The fleet is ${now.state}.`,
      state: now.state,
    });
  }
  if (now.info !== null && now.info !== before.info && now.info !== 'paused')
    happened.push({ kind: 'phase', level: 'info', text: `Phase: ${now.info}.` });
  if (now.canCommit === true && before.canCommit !== true)
    happened.push({ kind: 'state', level: 'good', text: 'A commit will succeed.' });
  if (now.state === 'RUNNING' && now.canCommit === false && before.canCommit === true)
    happened.push({ kind: 'state', level: 'warning', text: 'A commit will not succeed at present.' });
  return happened;
}

function ofWarnings(before: FleetLook, now: FleetLook): Happened[] {
  const started = [...now.warnings].filter(([name]) => !before.warnings.has(name));
  const ended = [...before.warnings.keys()].filter((name) => !now.warnings.has(name));
  return [
    ...started.map(([name, description]): Happened => ({
      kind: 'warning',
      level: 'warning',
      text: `Warning ${name}: ${description}`,
    })),
    ...ended.map((name): Happened => ({ kind: 'warning', level: 'good', text: `Warning ${name} is over.` })),
  ];
}

function ofFailure({ failure: before }: FleetLook, { failure }: FleetLook): Happened[] {
  if (failure === null || before !== null) return [];
  return [
    { kind: 'failure', level: 'bad', text: `The migration failed: ${failure.error}. ${failure.errorDescription}` },
  ];
}
