import { join } from 'node:path';
import { destination, pino, type DestinationStream, type Logger } from 'pino';
import type { Verbosity } from '../config/instance-schema.js';
import { redacted, secretFields } from './redact.js';

export type { Logger } from 'pino';

export interface LoggerSettings {
  verbosity: Verbosity;
  /** Folder of the log file, made when missing; standard output when left out. */
  logPath?: string | undefined;
  /** Takes the lines instead; for tests. */
  stream?: DestinationStream;
}

/**
 * The process's log: one JSON object per line. What looks like a connection string, a login or a password is
 * replaced in every line, whatever it came in by.
 */
export function createLogger(settings: LoggerSettings): Logger {
  const { logPath, verbosity } = settings;
  const stream = settings.stream ?? destination(logPath === undefined ? { dest: 1, sync: false } : { dest: join(logPath, 'convoy.log'), mkdir: true, sync: false });
  return pino(
    {
      level: verbosity.toLowerCase(),
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretFields, censor: '[redacted]' },
      hooks: { streamWrite: redacted },
    },
    stream,
  );
}
