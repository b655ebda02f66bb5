/**
 * What repeating the same call can lead to.
 * `never`: the migration or the call is over; `afterChange`: once what the description names was changed;
 * `automatic`: as it is, a little later (Convoy itself does so where it can).
 */
export type RetryClass = 'never' | 'afterChange' | 'automatic';

/** The status of a failure's reply: its class, as `docs/errors.md` explains it. */
export type FailureStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 422 | 500 | 503;

/** One failure that Convoy knows by name. */
export interface ErrorEntry {
  readonly httpStatus: FailureStatus;
  readonly retry: RetryClass;
  /** What happened and what to do; the description of a failure that has no closer one. */
  readonly sentence: string;
}
