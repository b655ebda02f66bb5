import { z } from 'zod';

/** Values of `enableUserWriteBlocking` besides true and false, as mongosync has them since 1.11. */
export const writeBlockingValues = ['none', 'destinationOnly', 'sourceAndDestination'] as const;

/** Which clusters refuse the writes of users. True means both, false neither. */
export const writeBlockingSchema = z.union([z.boolean(), z.enum(writeBlockingValues)], {
  error: `must be true, false or one of ${writeBlockingValues.map((value) => `"${value}"`).join(', ')}`,
});

/** A value of `enableUserWriteBlocking`. */
export type WriteBlocking = z.output<typeof writeBlockingSchema>;

/** Whether a migration blocks user writes: on the source from the commit on, on the destination until it opens. */
export function blockedClusters(value: WriteBlocking): { source: boolean; destination: boolean } {
  const source = value === true || value === 'sourceAndDestination';
  return { source, destination: source || value === 'destinationOnly' };
}

/** The one form of equal values. */
export function normaliseWriteBlocking(value: WriteBlocking): WriteBlocking {
  if (value === 'destinationOnly') return value;
  return blockedClusters(value).source;
}
