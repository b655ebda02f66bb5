import type { InstanceResult } from '../contract/instance-result.js';
import type { FailureStatus, RetryClass } from './error-entry.js';
import { errorTable } from './table.js';
import type { ErrorName } from './table.js';

export type { ErrorName, FailureStatus, RetryClass };

/** What comes with a failure besides its name and description. */
export interface ConvoyErrorOptions extends ErrorOptions {
  /** What each instance has answered to a command that was sent to a fleet. */
  readonly instances?: readonly InstanceResult[] | undefined;
}

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
  /** What each instance of a fleet has answered; undefined for what was not sent to one. */
  readonly instances: readonly InstanceResult[] | undefined;

  /**
   * @param error name in the error table
   * @param errorDescription what was found and what to do; the table's sentence when left out
   * @param options `cause`: the failure behind this one, for the log alone; `instances`: the answers of a fleet's instances
   */
  constructor(error: ErrorName, errorDescription?: string, options?: ConvoyErrorOptions) {
    const entry = errorTable[error];
    const description = errorDescription ?? entry.sentence;
    super(`${error}: ${description}`, options);
    this.error = error;
    this.errorDescription = description;
    this.httpStatus = entry.httpStatus;
    this.retry = entry.retry;
    this.instances = options?.instances;
  }
}

/**
 * Any thrown value as a ConvoyError: itself, or `internalError` with it as the cause.
 * The message of a foreign error is not taken over, since it may hold addresses or values.
 */
export function toConvoyError(thrown: unknown): ConvoyError {
  return thrown instanceof ConvoyError ? thrown : new ConvoyError('internalError', undefined, { cause: thrown });
}
