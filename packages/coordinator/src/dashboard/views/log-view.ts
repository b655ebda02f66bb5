import type { FleetLogRecord } from '@convoy/api/contract/log-record';
import { dateTimeText } from './quantity.js';
import type { Tone } from './tone.js';

/** One record of a log, in words. */
export interface LogView {
  readonly id: string;
  readonly at: string;
  readonly tone: Tone;
  readonly level: string;
  readonly from: string;
  readonly event: string;
  readonly text: string;
}

/** Fields that only repeat where a failure was thrown. */
const hidden = new Set(['stack', 'err']);

/** @param record as `GET /api/v1/logs` returns it */
export function logView({ id, at_ms, level, instance, event, message, fields }: FleetLogRecord): LogView {
  const details = Object.entries(fields).flatMap(([name, value]) =>
    hidden.has(name) ? causeOf(name, value) : [`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`],
  );
  return {
    id,
    at: dateTimeText(at_ms),
    tone: level === 'warn' ? 'warning' : 'bad',
    level,
    from: instance ?? 'coordinator',
    event,
    text: [message, ...details].filter((part) => part !== '').join(' · '),
  };
}

/** An error's type and message. */
function causeOf(name: string, value: unknown): string[] {
  if (name !== 'err' || typeof value !== 'object' || value === null) return [];
  const { type, message, codeName } = value as { type?: unknown; message?: unknown; codeName?: unknown };
  const text = [type, codeName, message].filter((part) => typeof part === 'string').join(': ');
  return text === '' ? [] : [text];
}

/** The same in one line, for a terminal. */
export function logLine(record: FleetLogRecord): string {
  const { at, level, from, event, text } = logView(record);
  return `${at}  ${level.padEnd(5)}  ${from}  ${event}  ${text}`;
}
