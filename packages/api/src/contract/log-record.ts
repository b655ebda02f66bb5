import { z } from 'zod';

/** Maximum log records that one process publishes. */
export const LOG_RECORDS_MAX = 100;

/** One warning or error of a process's log, as it stands there: without values of documents, logins and secrets. */
export const logRecordSchema = z
  .object({
    id: z.string().describe('Identifies the record within the fleet.'),
    at_ms: z.number().describe('Milliseconds since 1970, by the clock of its process.'),
    level: z.enum(['warn', 'error', 'fatal']),
    event: z.string().describe('Stable name, listed in docs/reference/logs.md.'),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()).describe('The other fields; empty where they are too large.'),
  })
  .describe('A warning or an error of a log.');

/** A log record with the process that wrote it. */
export const fleetLogRecordSchema = logRecordSchema.extend({
  instance: z.string().nullable().describe('Null for the coordinator that replies.'),
});

/** The reply of `GET /api/v1/logs`. */
export const logsReplySchema = z.object({
  success: z.literal(true),
  logs: z.array(fleetLogRecordSchema).describe('Oldest first.'),
});

/** A warning or an error of a process's log. */
export type LogRecord = z.output<typeof logRecordSchema>;
/** The same with its instance. */
export type FleetLogRecord = z.output<typeof fleetLogRecordSchema>;
