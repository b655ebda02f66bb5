import type { FleetLogRecord } from '@convoy/api/contract/log-record';
import { expect, test } from 'vitest';
import { logLine, logView } from '../../../src/dashboard/views/log-view.js';

const record: FleetLogRecord = {
  id: 'a-1',
  at_ms: Date.parse('2026-01-31T12:00:00Z'),
  level: 'error',
  event: 'failed',
  message: 'this instance has met a failure',
  instance: 'shard0',
  fields: { error: 'writeRefused', count: 2, err: { type: 'Error', codeName: 'Busy', stack: 'at x' }, stack: 'at y' },
};

test('a record in words has its fields and the cause, without places in the code', () => {
  expect(logView(record)).toMatchObject({
    tone: 'bad',
    from: 'shard0',
    text: 'this instance has met a failure · error: writeRefused · count: 2 · Error: Busy',
  });
});

test('a record of the coordinator says so', () => {
  expect(logLine({ ...record, level: 'warn', instance: null, fields: {} })).toMatch(
    /2026|31 Jan.* {2}warn {3}coordinator {2}failed {2}this instance has met a failure$/,
  );
});
