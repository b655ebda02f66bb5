import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { WriteOutcome } from '../cluster/door.js';
import { kindOfCode } from '../cluster/failure.js';

/** A statement inside a bulk failed in a way that sending it again under the same number mends. */
export class RetryableStatement extends Error {
  constructor(readonly code: number) {
    super(`a statement failed with retryable code ${code}`);
    this.name = 'RetryableStatement';
  }
}

/**
 * Looks through the failures of single statements for those that concern the whole write.
 * @throws ConvoyError `staleEpoch`; RetryableStatement when the write has to be sent again under its number
 */
export function refuseFailures(outcome: WriteOutcome): void {
  for (const failure of outcome.failures) {
    const kind = kindOfCode(failure.code);
    if (kind === 'staleEpoch') throw new ConvoyError('staleEpoch');
    if (kind === 'retryable') throw new RetryableStatement(failure.code);
  }
}
