import { join } from 'node:path';
import { destination, pino, type DestinationStream, type LogFn, type Logger } from 'pino';
import type { Verbosity } from '../config/instance-schema.js';
import { errorText, loggedError } from './error-text.js';
import type { RecentLogs } from './recent-logs.js';

export type { Logger } from 'pino';

interface LoggerSettings {
  verbosity: Verbosity;
  /** Folder of the log file, created when missing; standard output when left out. */
  logPath?: string | undefined;
  /** Receives the lines too, for readers without access to this log. */
  recent?: RecentLogs | undefined;
  /** Receives the lines instead; for tests. */
  stream?: DestinationStream;
}

/**
 * The process's log: one JSON object per line, with a level in words and one event name. In every line, whatever
 * looks like a connection string, a login or a password is replaced. Of an error it contains only what `loggedError`
 * returns.
 */
export function createLogger(settings: LoggerSettings): Logger {
  const { logPath, verbosity, recent } = settings;
  const stream =
    settings.stream ??
    destination(
      logPath === undefined
        ? { dest: 1, sync: false }
        : { dest: join(logPath, 'convoy.log'), mkdir: true, sync: false },
    );
  const streamWrite = (line: string) => {
    const text = redacted(line);
    recent?.take(text);
    return text;
  };
  return pino(
    {
      level: verbosity.toLowerCase(),
      timestamp: pino.stdTimeFunctions.isoTime,
      // Errors are reduced before; the default serializer would name each of them Object.
      serializers: { err: (error: unknown) => error },
      redact: { paths: secretFields, censor: '[redacted]' },
      formatters: { level: (level) => ({ level }), log: loggedFields },
      hooks: { streamWrite, logMethod: withMessage },
    },
    stream,
  );
}

/** Event of lines that a library writes. */
const libraryEvent = 'library';

/** An entry's event and fields; each error in them is reduced to what may be logged. */
function loggedFields(fields: Record<string, unknown>): Record<string, unknown> {
  const loggable = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? loggedError(value) : value]),
  );
  return { event: libraryEvent, ...loggable };
}

/**
 * Sets the message of an error that is logged alone, and its text in a message that contains it. Otherwise the logger
 * would use the error's own.
 */
function withMessage(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
  const [first, ...rest] = (args as unknown[]).map((value, at) =>
    at > 0 && value instanceof Error ? errorText(value) : value,
  );
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  const fields = first instanceof Error ? { err: first } : first;
  const message = rest.length === 0 && error instanceof Error ? [errorText(error)] : rest;
  method.apply(this, [fields, ...message] as Parameters<LogFn>);
}

/** Connection strings and URLs with a login; up to a space, quote or bracket. */
const secretUrl = /\b(mongodb(?:\+srv)?|rediss?):\/\/[^\s"'<>\\]+/gi;
const loginInUrl = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>\\/@]+@/gi;

/** A line without anything that looks like a connection string or a login in a URL. */
export function redacted(line: string): string {
  return line.replace(secretUrl, '$1://[redacted]').replace(loginInUrl, '$1[redacted]@');
}

/** Fields that are left out at the first two levels of a log entry. */
const secretFields = [
  'password',
  'token',
  'user',
  'username',
  'userinfo',
  'connectionString',
  'uri',
  'credentials',
].flatMap((name) => [name, `*.${name}`]);
