import type { InstanceResult } from '../contract/instance-result.js';
import type { FailureStatus, RetryClass } from './error-entry.js';
import { errorTable } from './table.js';
import type { ErrorName } from './table.js';

export type { ErrorName, FailureStatus, RetryClass };

/** Additions to a failure's name and description. */
export interface ConvoyErrorOptions extends ErrorOptions {
  /** Each instance's reply to a fleet command. */
  readonly instances?: readonly InstanceResult[] | undefined;
}

/**
 * A failure with a stable name: thrown inside Convoy, returned over HTTP.
 * Descriptions never hold document values, user names, passwords or connection strings.
 */
export class ConvoyError extends Error {
  override readonly name = 'ConvoyError';
  readonly error: ErrorName;
  readonly errorDescription: string;
  readonly httpStatus: FailureStatus;
  readonly retry: RetryClass;
  /** Each instance's reply to a fleet command; undefined for other failures. */
  readonly instances: readonly InstanceResult[] | undefined;

  /**
   * @param error name in the error table
   * @param errorDescription what happened and what to do; the table's sentence when left out
   * @param options `cause`: the underlying failure, only for the log; `instances`: replies of a fleet's instances
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

/** Whether a thrown value is the failure of this name. */
export function isConvoyError(thrown: unknown, name: ErrorName): thrown is ConvoyError {
  return thrown instanceof ConvoyError && thrown.error === name;
}

/**
 * Converts any thrown value to a ConvoyError: itself, or `internalError` with the value as its cause.
 * The message of a foreign error is dropped, since it may hold addresses or values.
 */
export function toConvoyError(thrown: unknown): ConvoyError {
  return thrown instanceof ConvoyError ? thrown : new ConvoyError('internalError', undefined, { cause: thrown });
}
