import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { NoAnswerError } from '../async/clock.js';
import { causeText, unreachable, UnreachableClusterError } from '../cluster/connection-failure.js';
import { classify } from '../cluster/failure.js';
import type { PreflightReport } from './report.js';

/**
 * A call without an answer fails after 20 s, and its repetition goes through another connection. An election takes
 * about 12 s. So two attempts are enough where another member can answer.
 */
const attemptsMax = 3;

/**
 * Checks, and checks again where a node gives no answer or an election is under way: checks change nothing.
 * @param report finds everything anew in every call
 * @param destination the name of the destination, as in the labels of clients
 * @throws ConvoyError `sourceUnavailable` or `destinationUnavailable`, which names the call that is not answered;
 * whatever else the report throws
 */
export async function repeatUnanswered(
  report: () => Promise<PreflightReport>,
  destination: string,
  signal: AbortSignal,
): Promise<PreflightReport> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await report();
    } catch (thrown) {
      signal.throwIfAborted();
      if (classify(thrown) !== 'retryable') throw thrown;
      if (attempt >= attemptsMax) throw unansweredBy(thrown, destination);
    }
  }
}

function unansweredBy(thrown: unknown, destination: string): ConvoyError {
  const [from, text] = described(thrown);
  const error = from.startsWith(destination) ? 'destinationUnavailable' : 'sourceUnavailable';
  return new ConvoyError(error, `${text} The check had to be given up; run it again.`, { cause: thrown });
}

/** Who failed, and how. */
function described(thrown: unknown): [from: string, text: string] {
  if (thrown instanceof UnreachableClusterError) return [thrown.cluster, unreachable(thrown.cluster, thrown.failure)];
  if (thrown instanceof NoAnswerError && thrown.wait !== null) {
    const { from, what } = thrown.wait;
    const remedy = 'Look at this node and its network: a member that is frozen has to be ended or to go on.';
    return [from, `${from} gives no answer to ${what}. ${remedy}`];
  }
  return ['', `A cluster did not answer: ${causeText(thrown)}. Check that its members run and can be reached.`];
}
