import type { FleetMessage } from '../message.js';

export interface WarningView {
  readonly name: string;
  readonly description: string;
  /** What to do; empty when the description says it. */
  readonly advice: string;
}

/** Only where the description does not say it itself. */
const advices: Readonly<Record<string, string>> = {
  waitingForInstances: 'Start the named instances, or send them the same start.',
  instancesSilent: 'Look at the process, its machine and its way to Redis. Others go on; nothing is lost.',
  redisUnavailable: 'Look at Redis. Instances go on copying without it; commands need it back.',
  mixedStates: 'Usual for a moment after a command. If it stays, send the command again.',
  retrying: 'Look at the named cluster. It is tried again for half an hour by default.',
  moreWarnings: 'Ask the instances themselves: convoy progress --url.',
};

/** The warnings of the fleet with what to do about them. */
export function warningViews({ progress }: FleetMessage): WarningView[] {
  return (progress.warnings ?? []).map(({ name, description }) => ({ name, description, advice: advices[name] ?? '' }));
}
