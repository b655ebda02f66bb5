import type { CurrentStep } from '@convoy/api/contract/current-step';
import type { HotDocument } from '@convoy/api/contract/hot-documents';
import type { Progress } from '@convoy/api/contract/progress';
import type { Waiting } from '@convoy/api/contract/waiting';
import { namesText } from './blocker-groups.js';
import { clockText, countText, dateTimeText, durationText } from './quantity.js';

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

/** Namespaces in the sentence; the others are summed up. */
const namedMax = 3;

/** Whether anybody writes to the source, as one sentence; empty before a start and after a commit. */
export function sourceWritesText({ state, sourceWrites }: Pick<Progress, 'state' | 'sourceWrites'>): string {
  if (state !== 'RUNNING' && state !== 'COMMITTING') return '';
  if (sourceWrites === null) return 'It is unknown whether anybody writes to the source.';
  const { windowSeconds, writes, namespaces } = sourceWrites;
  if (writes === 0) return `No write to the source in the last ${windowSeconds} s.`;
  const named = namespaces.slice(0, namedMax);
  const others = writes - named.reduce((sum, one) => sum + one.writes, 0);
  const parts = [
    ...named.map((one) => `${one.namespace} ${countText(one.writes)}`),
    ...(others > 0 ? [`others ${countText(others)}`] : []),
  ];
  return `${countText(writes)} writes to the source in the last ${windowSeconds} s: ${parts.join(', ')}.`;
}

const ways: Readonly<Record<HotDocument['appliedBy'], string>> = {
  folding: 'folded into one write of many',
  rereading: 're-read from the source',
};

/** What is known of a hot document, as a sentence. */
export function hotDocumentText({
  namespace,
  document,
  changesPerSecond,
  workerPercent,
  appliedBy,
}: HotDocument): string {
  return (
    `Hot document ${document} of ${namespace}: ${countText(changesPerSecond)} changes/s, ` +
    `${workerPercent} % of its apply worker, ${ways[appliedBy]}.`
  );
}

/** A sentence for each hot document. */
export function hotDocumentTexts({ hotDocuments }: Pick<Progress, 'hotDocuments'>): string[] {
  return (hotDocuments ?? []).map(hotDocumentText);
}
