import { parseBody } from './invalid-request.js';
import { normaliseStartRequest } from './normalise-start-request.js';
import { type StartRequest, startRequestSchema } from './start-request.js';

/**
 * Validates a parsed JSON body.
 * @throws ConvoyError `invalidRequest` with the path of every invalid value, `sourceEqualsDestination`,
 * or what `normaliseStartRequest` throws
 */
export function parseStartRequest(body: unknown): StartRequest {
  return normaliseStartRequest(parseBody(startRequestSchema, body));
}
