import { CommandError } from '../node/command.js';

/** A failure over a document, unlike one of the command itself. */
export class ExecutionError extends CommandError {
  /** @param during the running part of the command; undefined while none has claimed the failure */
  constructor(
    readonly reason: CommandError,
    during?: string,
  ) {
    super(
      reason.code,
      reason.codeName,
      during === undefined ? reason.message : `${during} :: caused by :: ${reason.message}`,
      reason.labels,
      reason.extra,
    );
  }
}

/** Takes the next computed item. @throws ExecutionError for a CommandError */
export function computed<T>(next: () => T): T {
  try {
    return next();
  } catch (error) {
    if (!(error instanceof CommandError) || error.message.startsWith('PlanExecutor error')) throw error;
    throw new ExecutionError(error);
  }
}

/** Runs a part of a command and names it in failures over documents. */
export async function during<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ExecutionError) || what === '') throw error;
    throw new ExecutionError(error.reason, what);
  }
}
