import { z } from 'zod';
import { ConvoyError } from '../errors/convoy-error.js';
import { carriedKinds } from './carry.js';
import { parseStartRequest } from './parse-start-request.js';
import type { StartRequest } from './start-request.js';

const querySchema = z.strictObject({
  source: z.string().min(1).default('cluster0'),
  destination: z.string().min(1).default('cluster1'),
  carry: z
    .string()
    .transform((list) => list.split(',').filter((kind) => kind !== ''))
    .pipe(z.array(z.enum(carriedKinds)))
    .optional(),
});

/**
 * The start whose inventory a request of `GET /api/v1/inventory` asks for.
 * @throws ConvoyError `invalidRequest`, or what `parseStartRequest` throws
 */
export function inventoryRequest(query: unknown): StartRequest {
  const parsed = querySchema.safeParse(query);
  if (parsed.success) return parseStartRequest(parsed.data);
  throw new ConvoyError(
    'invalidRequest',
    `The parameters are source, destination and carry (any of ${carriedKinds.join(', ')}, separated by commas).`,
  );
}
