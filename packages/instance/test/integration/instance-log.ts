import { processLogs } from '../../../../test/process-logs.js';
import { createLogger, type Logger } from '../../src/logging/logger.js';

/**
 * The log of an instance that runs in the test's process. A failed test prints it; with CONVOY_TEST_LOG all of it goes
 * to standard output.
 * @param name for example `instance shard0`
 */
export function instanceLogger(name: string): Logger {
  if (process.env['CONVOY_TEST_LOG'] !== undefined) return createLogger({ verbosity: 'DEBUG' });
  return createLogger({ verbosity: 'INFO', stream: processLogs.open(name) });
}
