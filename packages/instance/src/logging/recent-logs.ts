import { randomUUID } from 'node:crypto';
import { LOG_RECORDS_MAX, type LogRecord } from '@convoy/api/contract/log-record';

/** Maximum characters of all records together: a small part of a message to Redis. */
const charactersMax = 64 * 1024;
/** A longer line keeps its event and message only. */
const lineMax = 4 * 1024;
const messageMax = 1_000;

/** Beginnings of the lines that are of interest; others are not parsed. */
const beginnings = ['{"level":"warn"', '{"level":"error"', '{"level":"fatal"'];

type Line = { readonly time: string; readonly msg?: string } & Pick<LogRecord, 'level' | 'event'>;

interface Entry {
  readonly record: LogRecord;
  readonly characters: number;
}

/** The last warnings and errors of this process's log, in bounded memory. The oldest go first. */
export class RecentLogs {
  readonly #process = randomUUID().slice(0, 8);
  readonly #entries: Entry[] = [];
  #taken = 0;
  #characters = 0;

  /** Number of warnings and errors so far. */
  get taken(): number {
    return this.#taken;
  }

  /** Oldest first. */
  get records(): readonly LogRecord[] {
    return this.#entries.map(({ record }) => record);
  }

  /** Receives every line of the log, after everything secret was replaced in it. */
  take(line: string): void {
    if (!beginnings.some((beginning) => line.startsWith(beginning))) return;
    this.#taken += 1;
    const record = recordOf(line, `${this.#process}-${this.#taken}`);
    const characters = JSON.stringify(record).length;
    this.#entries.push({ record, characters });
    this.#characters += characters;
    while (this.#entries.length > LOG_RECORDS_MAX || this.#characters > charactersMax)
      this.#characters -= this.#entries.shift()?.characters ?? 0;
  }
}

function recordOf(line: string, id: string): LogRecord {
  const { level, time, event, msg, ...others } = JSON.parse(line) as Line;
  const fields = Object.entries(others).filter(([name]) => name !== 'pid' && name !== 'hostname');
  return {
    id,
    at_ms: Date.parse(time),
    level,
    event,
    message: (msg ?? '').slice(0, messageMax),
    fields: line.length > lineMax ? {} : Object.fromEntries(fields),
  };
}
