import { CommandError } from '../node/command.js';

/** A failure over a document, unlike one of the command itself. */
export class ExecutionError extends CommandError {
  /** @param during what was carried out; undefined while nobody has said */
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

/** Takes the next of something that is computed. Throws ExecutionError for a CommandError. */
export function computed<T>(next: () => T): T {
  try {
    return next();
  } catch (error) {
    if (!(error instanceof CommandError) || error.message.startsWith('PlanExecutor error')) throw error;
    throw new ExecutionError(error);
  }
}

/** Runs a part of a command and says what it was in failures over documents. */
export async function during<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ExecutionError) || what === '') throw error;
    throw new ExecutionError(error.reason, what);
  }
}
