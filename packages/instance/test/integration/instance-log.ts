import { processLogs } from '../../../../test/process-logs.js';
import { createLogger, type Logger } from '../../src/logging/logger.js';
import type { RecentLogs } from '../../src/logging/recent-logs.js';

/**
 * The log of an instance that runs in the test's process. A failed test prints it; with CONVOY_TEST_LOG all of it goes
 * to standard output.
 * @param name for example `instance shard0`
 * @param recent receives its warnings and errors as well
 */
export function instanceLogger(name: string, recent?: RecentLogs): Logger {
  if (process.env['CONVOY_TEST_LOG'] !== undefined) return createLogger({ verbosity: 'DEBUG', recent });
  return createLogger({ verbosity: 'INFO', stream: processLogs.open(name), recent });
}
