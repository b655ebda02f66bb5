import { fileURLToPath } from 'node:url';
import { Child } from '@convoy/testbed/process/child';

/** A process that measures itself and prints the result as one JSON line. */
export interface MeasuredProcess {
  /** For messages. */
  name: string;
  /** The compiled module to run. */
  script: URL;
  /** Its order: the only argument, as JSON. */
  order: object;
  limit_ms: number;
  /** File for its whole output. */
  logFile: string;
}

/**
 * Runs it until it prints its result, a document that begins with `seconds` or `measured`.
 * @throws Error when it ends before, or exceeds its time limit
 */
export async function runMeasured<Result>({
  name,
  script,
  order,
  limit_ms,
  logFile,
}: MeasuredProcess): Promise<Result> {
  await using child = await Child.start({
    name,
    command: process.execPath,
    args: [fileURLToPath(script), JSON.stringify(order)],
    ready: /^\{"(seconds|measured)":.*\}$/,
    readyWithin_ms: limit_ms,
    logFile,
  });
  return JSON.parse(child.ready[0]) as Result;
}
