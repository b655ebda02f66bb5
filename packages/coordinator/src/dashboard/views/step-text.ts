import type { CurrentStep } from '@convoy/api/contract/current-step';
import { clockText, durationText } from './quantity.js';

/** What a commit or a reverse does now, and since when; empty while there is none. */
export function stepText(step: CurrentStep | null | undefined): string {
  if (!step) return '';
  const { number, count, since, description } = step;
  const began = since === null ? '' : `, since ${clockText(Date.parse(since))}`;
  return `Step ${number} of ${count}${began}: ${description}`;
}

/** For how long the step has run, as `this step for 12 s`; empty when unknown. */
export function stepDurationText(step: CurrentStep | null | undefined, now_ms: number): string {
  if (!step || step.since === null) return '';
  return `this step for ${durationText(Math.max(0, now_ms - Date.parse(step.since)) / 1000)}`;
}
