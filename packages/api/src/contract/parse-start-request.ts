import { parseBody } from './invalid-request.js';
import { normaliseStartRequest } from './normalise-start-request.js';
import { type StartRequest, startRequestSchema } from './start-request.js';

/**
 * Reads a parsed JSON body.
 * @throws ConvoyError `invalidRequest` with the path of every wrong value, `sourceEqualsDestination`,
 * `buildIndexesNeverWithReversible` or `reversibleNeedsWriteBlocking`
 */
export function parseStartRequest(body: unknown): StartRequest {
  return normaliseStartRequest(parseBody(startRequestSchema, body));
}
