import { z } from 'zod';
import { notifiedEvents, type NotifySettings } from '@convoy/api/configuration/notify-settings';
import { nextStep, nextStepAfterFailure } from '@convoy/api/contract/next-step';
import { oplogTimeInWords } from '@convoy/api/contract/oplog-time';
import { migrationStates } from '@convoy/api/contract/progress';
import type { EventChange, Observation } from './standing-events.js';

/** Body of a notification. It has no secrets, and no values of documents. */
export const notificationSchema = z.object({
  /** The same in every attempt, and for every receiver. */
  id: z.string(),
  fleet: z.string(),
  /** When the event was noticed, in ISO 8601. */
  time: z.string(),
  dashboard: z.string().nullable(),
  event: z.enum([...notifiedEvents, 'test']),
  status: z.enum(['raised', 'cleared']),
  state: z.enum(migrationStates).nullable(),
  /** What happened. */
  summary: z.string(),
  /** What to do next. */
  next: z.string(),
});

/** Body of a notification. */
export type Notification = z.output<typeof notificationSchema>;

/** What every notification of a process has. */
export interface Origin {
  readonly fleet: string;
  readonly settings: Pick<NotifySettings, 'dashboardUrl' | 'lag' | 'oplog'>;
}

const NOTHING_TO_DO = 'Nothing to do.';

/** @param now_ms milliseconds since 1970 */
export function notificationOf(
  change: EventChange,
  observation: Observation,
  origin: Origin,
  id: string,
  now_ms: number,
): Notification {
  return {
    ...headOf(origin, id, now_ms),
    ...change,
    state: observation.progress.state,
    ...textsOf(change, observation, origin),
  };
}

/** A notification that only tries the way to a receiver. */
export function testNotification(origin: Origin, id: string, now_ms: number): Notification {
  return {
    ...headOf(origin, id, now_ms),
    event: 'test',
    status: 'raised',
    state: null,
    summary: `This is a test of the notifications of fleet ${origin.fleet}.`,
    next: NOTHING_TO_DO,
  };
}

function headOf({ fleet, settings }: Origin, id: string, now_ms: number) {
  return { id, fleet, time: new Date(now_ms).toISOString(), dashboard: settings.dashboardUrl ?? null };
}

type Texts = Pick<Notification, 'summary' | 'next'>;

function textsOf({ event, status }: EventChange, observation: Observation, { fleet, settings }: Origin): Texts {
  const { failure, progress } = observation;
  const next = nextStep(progress);
  const nextIfSilent = (progress.warnings ?? []).some(({ name }) => name === 'instancesSilent')
    ? 'Instances are silent: start them again. convoy progress names them.'
    : null;
  switch (event) {
    case 'ready':
      return { summary: `The migration of fleet ${fleet} is ready: a commit would be accepted now.`, next };
    case 'committed':
      return { summary: `The migration of fleet ${fleet} is committed: the destination accepts writes.`, next };
    case 'failed': {
      const reason = failure === null ? '' : ` ${failure.error}: ${failure.errorDescription}`;
      return { summary: `The migration of fleet ${fleet} failed.${reason}`, next: nextStepAfterFailure };
    }
    case 'lag': {
      const now = progress.lagTimeSeconds === null ? '' : ` It is ${progress.lagTimeSeconds} s now.`;
      if (status === 'cleared')
        return { summary: `The lag of fleet ${fleet} is no longer a concern.${now}`, next: NOTHING_TO_DO };
      return {
        summary: `The lag of fleet ${fleet} is above ${settings.lag.raise_seconds} s.${now}`,
        next: nextIfSilent ?? 'Give the destination more capacity, raise applyWorkers, or reduce writes on the source.',
      };
    }
    case 'oplog': {
      if (status === 'cleared')
        return { summary: `The oplogs of fleet ${fleet} reach back far enough again.`, next: NOTHING_TO_DO };
      const left = oplogTimeInWords(observation.oplogRemaining_seconds);
      return {
        summary: `An oplog of fleet ${fleet} soon drops changes that are not applied yet. Time left: ${left}.`,
        next: nextIfSilent ?? 'Resume the migration, reduce its load, or enlarge the oplog with replSetResizeOplog.',
      };
    }
  }
}
