import type { FleetLogRecord, LogRecord } from '@convoy/api/contract/log-record';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';

/** Maximum records of a reply. */
export const LOGS_MAX = 1_000;

/**
 * The last warnings and errors of all processes, oldest first. It holds one instance's details at a time.
 * @param own those of this coordinator
 */
export async function mergeLogs(
  details: AsyncIterable<[id: string, details: PublishedDetails['logs']]>,
  own: readonly LogRecord[],
): Promise<FleetLogRecord[]> {
  let merged: FleetLogRecord[] = own.map((record) => ({ ...record, instance: null }));
  for await (const [instance, { records }] of details) {
    merged.push(...records.map((record) => ({ ...record, instance })));
    if (merged.length > 2 * LOGS_MAX) merged = latestOf(merged);
  }
  return latestOf(merged);
}

function latestOf(records: FleetLogRecord[]): FleetLogRecord[] {
  return records.sort((a, b) => a.at_ms - b.at_ms).slice(-LOGS_MAX);
}
