import { Child } from '@convoy/testbed/process/child';

/** A process that measures something by itself, and prints the result as one line of JSON. */
export interface MeasuredProcess {
  /** For messages. */
  name: string;
  /** The compiled module that runs. */
  script: string;
  /** What it is to do: its only argument, as JSON. */
  order: object;
  limit_ms: number;
  /** All its output is appended here. */
  logFile: string;
}

/**
 * Runs it until it has printed its result, a document that begins with `seconds` or `measured`.
 * @throws Error when it ends before, or takes longer than its limit
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
    args: [script, JSON.stringify(order)],
    ready: /^\{"(seconds|measured)":.*\}$/,
    readyWithin_ms: limit_ms,
    logFile,
  });
  return JSON.parse(child.ready[0]) as Result;
}
