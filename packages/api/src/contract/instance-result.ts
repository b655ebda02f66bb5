import { z } from 'zod';

/** One instance's reply to a fleet command. */
export const instanceResultSchema = z.discriminatedUnion('success', [
  z.object({ id: z.string(), success: z.literal(true) }),
  z.object({ id: z.string(), success: z.literal(false), error: z.string(), errorDescription: z.string() }),
]);

/** One instance's reply to a fleet command. */
export type InstanceResult = z.output<typeof instanceResultSchema>;
