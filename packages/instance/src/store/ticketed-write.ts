import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { NodeClient, RawWrite, WriteOutcome, WriteTicket } from '../cluster/node-client.js';
import { classify, historyIncompleteCode, kindOfCode } from '../cluster/failure.js';

/** Numbers of one epoch: the next epoch begins at `(epoch + 1) × 2^32`. */
export const numbersPerEpoch = 2n ** 32n;

/** A statement inside a bulk failed in a way that sending it again under the same number mends. */
export class RetryableStatement extends Error {
  constructor(readonly code: number) {
    super(`a statement failed with retryable code ${code}`);
    this.name = 'RetryableStatement';
  }
}

/**
 * Sends a write once, under its number in its session.
 * @returns what was written and the failures of single statements that repeating cannot mend
 * @throws ConvoyError `staleEpoch` when the session is fenced; RetryableStatement when the write has to be sent again under its number
 */
export async function writeTicketed(
  client: NodeClient,
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

/** What is known of no statement is that of each. */
function unknownOutcome({ statements }: RawWrite): WriteOutcome {
  const failures = statements.map((_, index) => ({ index, code: historyIncompleteCode, message: '' }));
  return { n: 0, nModified: 0, upserted: 0, failures };
}

/** Looks through the failures of single statements for those that concern the whole write. */
function refuseFailures({ failures }: WriteOutcome): void {
  for (const { code } of failures) {
    const kind = kindOfCode(code);
    if (kind === 'staleEpoch') throw new ConvoyError('staleEpoch');
    if (kind === 'retryable') throw new RetryableStatement(code);
  }
}
