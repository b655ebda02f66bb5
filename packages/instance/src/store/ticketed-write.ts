import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { NodeClient, RawWrite, WriteOutcome, WriteTicket } from '../cluster/node-client.js';
import { classify, historyIncompleteCode, kindOfCode } from '../cluster/failure.js';

/** Transaction numbers of one epoch: the next epoch starts at `(epoch + 1) × 2^32`. */
export const numbersPerEpoch = 2n ** 32n;

/** A statement of a bulk failed; sending the bulk again under the same number mends it. */
export class RetryableStatement extends Error {
  constructor(readonly code: number) {
    super(`a statement failed with retryable code ${code}`);
    this.name = 'RetryableStatement';
  }
}

/**
 * Sends a write once, under its number in its session.
 * @returns the counts, and the failures of single statements that no repetition can mend
 * @throws ConvoyError `staleEpoch` when the session is fenced; RetryableStatement when the caller has to repeat the
 * write under the same number
 */
export async function writeTicketed(
  client: Pick<NodeClient, 'write'>,
  write: RawWrite,
  ticket: WriteTicket,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const outcome = await client.write(write, ticket, { signal }).catch((error: unknown) => {
    // A replica set refuses the whole command, a router the single statements.
    const kind = classify(error);
    if (kind === 'outcomeUnknown') return unknownOutcome(write);
    throw kind === 'staleEpoch' ? new ConvoyError('staleEpoch') : error;
  });
  refuseFailures(outcome);
  return outcome;
}

/** Reports the outcome of every statement as unknown. */
function unknownOutcome({ statements }: RawWrite): WriteOutcome {
  const failures = statements.map((_, index) => ({ index, code: historyIncompleteCode, message: '' }));
  return { n: 0, nModified: 0, upserted: 0, failures };
}

/** Throws for failures of single statements that concern the whole write. */
function refuseFailures({ failures }: WriteOutcome): void {
  for (const { code } of failures) {
    const kind = kindOfCode(code);
    if (kind === 'staleEpoch') throw new ConvoyError('staleEpoch');
    if (kind === 'retryable') throw new RetryableStatement(code);
  }
}
