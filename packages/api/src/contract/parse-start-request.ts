import { parseBody } from './invalid-request.js';
import { normaliseStartRequest } from './normalise-start-request.js';
import { type StartRequest, startRequestSchema } from './start-request.js';

/** Options of mongosync that Convoy has decided against. */
const refusedOptions: ReadonlyMap<string, string> = new Map(
  ['copyInNaturalOrder', 'detectRandomId'].map((option) => [
    option,
    'Convoy copies in _id order only: it resumes, and applies changes during the copy, by ranges of _id. ' +
      'Leave the option out.',
  ]),
);

/**
 * Validates a parsed JSON body.
 * @throws ConvoyError `invalidRequest` with the path of every invalid value, `sourceEqualsDestination`,
 * or what `normaliseStartRequest` throws
 */
export function parseStartRequest(body: unknown): StartRequest {
  return normaliseStartRequest(parseBody(startRequestSchema, body, refusedOptions));
}
