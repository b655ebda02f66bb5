import { LOG_RECORDS_MAX } from '@convoy/api/contract/log-record';
import { logsDetailsSchema } from '@convoy/api/fleet/published-details';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/logging/logger.js';
import { RecentLogs } from '../../../src/logging/recent-logs.js';

function logging(): { recent: RecentLogs; logger: ReturnType<typeof createLogger>; lines: string[] } {
  const lines: string[] = [];
  const recent = new RecentLogs();
  const stream = { write: (line: string) => void lines.push(line) };
  return { recent, lines, logger: createLogger({ verbosity: 'DEBUG', recent, stream }) };
}

test('warnings and errors are kept as they stand in the log, without secrets; other levels are not', () => {
  const { recent, logger, lines } = logging();
  logger.info({ event: 'listening' }, 'instance listens');
  logger.warn({ event: 'retry', what: 'read', token: 'hidden' }, 'at mongodb://user:hidden@host/');
  logger.error({ event: 'failed', err: new Error('broken') }, 'failed');
  expect(lines).toHaveLength(3);
  expect(recent.taken).toBe(2);
  expect(recent.records).toMatchObject([
    { level: 'warn', event: 'retry', fields: { what: 'read' }, message: 'at mongodb://[redacted]' },
    { level: 'error', event: 'failed', fields: { err: { type: 'Error', message: 'broken' } } },
  ]);
  expect(JSON.stringify(recent.records)).not.toContain('hidden');
  expect(recent.records[0]?.at_ms).toBeGreaterThan(0);
  expect(new Set(recent.records.map(({ id }) => id)).size).toBe(2);
  const details = { records: [...recent.records] };
  expect(logsDetailsSchema.parse(details)).toEqual(details);
});

test('the number of records is bounded, and the oldest go', () => {
  const { recent, logger } = logging();
  for (let n = 0; n < LOG_RECORDS_MAX + 5; n += 1) logger.warn({ event: 'retry', n }, 'x');
  expect(recent.records).toHaveLength(LOG_RECORDS_MAX);
  expect(recent.records[0]?.fields).toEqual({ n: 5 });
});

test('their size is bounded: many long records leave fewer, and a very long one has no fields', () => {
  const { recent, logger } = logging();
  for (let n = 0; n < LOG_RECORDS_MAX; n += 1) logger.warn({ event: 'retry', text: 'y'.repeat(3_000) }, 'x');
  expect(JSON.stringify(recent.records).length).toBeLessThan(70_000);
  logger.error({ event: 'failed', text: 'z'.repeat(100_000) }, 'z'.repeat(100_000));
  expect(recent.records.at(-1)).toMatchObject({ event: 'failed', fields: {}, message: 'z'.repeat(1_000) });
});
