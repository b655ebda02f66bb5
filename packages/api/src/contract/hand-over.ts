import { z } from 'zod';

const timeSchema = z.object({
  t: z.int().nonnegative().describe('Seconds since 1970: the first part of a BSON timestamp.'),
  i: z.int().nonnegative().describe('The second part of the timestamp.'),
  at: z.string().describe('The seconds as ISO 8601.'),
});

/**
 * The times with which a consumer of change streams goes over to the destination; `docs/guide/cut-over.md` has the
 * steps.
 */
export const handOverSchema = z.object({
  source: timeSchema.describe(
    "The commit time: the source's change streams up to it have everything that the destination has taken from it.",
  ),
  destination: timeSchema.describe(
    'Open change streams of the destination at this time (startAtOperationTime): every write of Convoy to ' +
      'collections of users is below it, and every later write above.',
  ),
});

export type HandOver = z.output<typeof handOverSchema>;
