import { errorTable } from './table.js';
import type { ErrorName, FailureStatus, RetryClass } from './table.js';

export type { ErrorName, FailureStatus, RetryClass } from './table.js';

/**
 * A failure with a stable name, as it is thrown inside Convoy and answered over HTTP.
 * The description must not hold values of documents, user names, passwords or connection strings.
 */
export class ConvoyError extends Error {
  override readonly name = 'ConvoyError';
  readonly error: ErrorName;
  readonly errorDescription: string;
  readonly httpStatus: FailureStatus;
  readonly retry: RetryClass;

  /**
   * @param error name in the error table
   * @param errorDescription what was found and what to do; the table's sentence when left out
   * @param options `cause`: the failure behind this one, for the log alone
   */
  constructor(error: ErrorName, errorDescription?: string, options?: ErrorOptions) {
    const entry = errorTable[error];
    const description = errorDescription ?? entry.sentence;
    super(`${error}: ${description}`, options);
    this.error = error;
    this.errorDescription = description;
    this.httpStatus = entry.httpStatus;
    this.retry = entry.retry;
  }
}

/**
 * Any thrown value as a ConvoyError: itself, or `internalError` with it as the cause.
 * The message of a foreign error is not taken over, since it may hold addresses or values.
 */
export function toConvoyError(thrown: unknown): ConvoyError {
  return thrown instanceof ConvoyError ? thrown : new ConvoyError('internalError', undefined, { cause: thrown });
}
