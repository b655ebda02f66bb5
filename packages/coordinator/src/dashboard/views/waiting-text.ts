import type { Progress } from '@convoy/api/contract/progress';
import type { Waiting } from '@convoy/api/contract/waiting';
import { namesText } from './blocker-groups.js';

/** Which instances have not taken a recorded command, with the reason of the first; empty when none waits. */
export function waitingSentence(waitingFor: readonly Waiting[] | null): string {
  const [first] = waitingFor ?? [];
  if (first === undefined) return '';
  const names = namesText([...new Set((waitingFor ?? []).map(({ instance }) => instance))]);
  const { command, description, instance } = first;
  const reason = names === instance ? sentence(description) : `${instance}: ${description}`;
  return `WAITING for ${names} to ${command}. ${reason}`;
}

/** Whether the migration waits for the start of an instance, so that nothing is created or copied yet. */
export function waitsForStart({ state, info, warnings }: Pick<Progress, 'state' | 'info' | 'warnings'>): boolean {
  const isWarned = (warnings ?? []).some(({ name }) => name === 'waitingForInstances');
  return state === 'RUNNING' && info === 'initializing' && isWarned;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
