import { expect } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';

/** The smallest valid start body. */
export const clusters = { source: 'cluster0', destination: 'cluster1' };

/** The ConvoyError that a function throws. */
export function failureOf(run: () => unknown): ConvoyError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConvoyError) return error;
    throw error;
  }
  expect.unreachable('nothing was thrown');
}

/** Expects that a start body, given without the cluster names, is rejected with exactly these problems. */
export function expectInvalid(fields: Record<string, unknown>, ...problems: string[]): void {
  const error = failureOf(() => parseStartRequest({ ...clusters, ...fields }));
  expect(error.error).toBe('invalidRequest');
  expect(error.errorDescription.split('; ').sort()).toEqual(problems.sort());
}
