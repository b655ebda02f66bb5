/**
 * Whether a repeated call can succeed. `never`: no, the migration or the call is over. `afterChange`: after changing
 * what the description names. `automatic`: a little later without any change (Convoy itself retries where it can).
 */
export type RetryClass = 'never' | 'afterChange' | 'automatic';

/** HTTP status of a failure's reply; `docs/reference/errors.md` explains the classes. */
export type FailureStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 422 | 500 | 503;

/** One named failure. */
export interface ErrorEntry {
  readonly httpStatus: FailureStatus;
  readonly retry: RetryClass;
  /** What happened, then what to do; the description of a failure that has no more specific one. */
  readonly sentence: string;
}

/** Failures of one status. Those with a sentence alone are of the class `afterChange`. */
export function entriesOf<Name extends string>(
  httpStatus: FailureStatus,
  given: Readonly<Record<Name, string | readonly [RetryClass, sentence: string]>>,
): Record<Name, ErrorEntry> {
  const entries = Object.entries<string | readonly [RetryClass, string]>(given).map(([name, one]) => {
    const [retry, sentence] = typeof one === 'string' ? (['afterChange', one] as const) : one;
    return [name, { httpStatus, retry, sentence }];
  });
  return Object.fromEntries(entries) as Record<Name, ErrorEntry>;
}
