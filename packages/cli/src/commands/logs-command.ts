import { setTimeout as sleep } from 'node:timers/promises';
import type { ContractClient } from '@convoy/api/client/contract-client';
import type { FleetLogRecord } from '@convoy/api/contract/log-record';
import { logLine } from '@convoy/coordinator/dashboard/views/log-view';
import type { Command } from 'commander';
import { interruption } from './interruption.js';
import { clientOf, fromCoordinator, serviceCommand, type ServiceOptions } from './service.js';

/** Interval of questions for new records. */
const follow_ms = 1_000;

interface LogsOptions extends ServiceOptions {
  follow?: boolean;
  json?: boolean;
}

/** Adds the command that prints the last warnings and errors of all processes. */
export function addLogsCommand(program: Command): void {
  serviceCommand(program, 'logs', 'print the last warnings and errors of all processes')
    .option('--follow', 'continue with new ones until interrupted')
    .option('--json', 'print one JSON object per line')
    .action(async (options: LogsOptions) => {
      const client = clientOf(options);
      const text = options.json ? (record: FleetLogRecord) => JSON.stringify(record) : logLine;
      const print = (records: readonly FleetLogRecord[]): void => {
        for (const record of records) console.log(text(record));
      };
      const first = await fromCoordinator(options.url, 'logs', client.logs());
      print(first);
      if (options.follow) await followLogs(client, first, print);
      else if (first.length === 0 && !options.json) console.log('No warnings or errors.');
    });
}

/** Asks again and again, also while a coordinator restarts. The last reply has all records that there are. */
async function followLogs(
  client: ContractClient,
  first: readonly FleetLogRecord[],
  print: (records: readonly FleetLogRecord[]) => void,
): Promise<void> {
  const signal = interruption();
  let known = new Set(first.map(({ id }) => id));
  while (!signal.aborted) {
    await sleep(follow_ms, undefined, { signal }).catch(() => undefined);
    const records = await client.logs({ signal }).catch(() => null);
    if (records === null) continue;
    print(records.filter(({ id }) => !known.has(id)));
    known = new Set(records.map(({ id }) => id));
  }
}
