import type { Progress } from '@convoy/api/contract/progress';
import { clockText, dateTimeText, durationText } from './quantity.js';

interface Times extends Pick<Progress, 'state' | 'startedAt'> {
  readonly copyEndsAt?: string | null;
}

/** When the migration started, and for how long it has run; empty before a start. */
export function startedText({ state, startedAt }: Times, now_ms: number): string {
  if (startedAt === null) return '';
  const at_ms = Date.parse(startedAt);
  return [dateTimeText(at_ms), elapsedText({ state, startedAt }, now_ms)].filter((part) => part !== '').join(', ');
}

/** For how long the migration has run, as `2 h ago`; empty before a start and once committed. */
export function elapsedText({ state, startedAt }: Times, now_ms: number): string {
  if (startedAt === null || state === 'COMMITTED') return '';
  return `${durationText(Math.max(0, now_ms - Date.parse(startedAt)) / 1000)} ago`;
}

/** Local time of day at which the copy ends, as an estimate; empty when unknown or over. */
export function copyEndText({ copyEndsAt }: Times): string {
  return copyEndsAt == null ? '' : `about ${clockText(Date.parse(copyEndsAt)).slice(0, 5)}`;
}
