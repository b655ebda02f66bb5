import { z } from 'zod';

/** What one instance of a fleet has answered to a command. */
export const instanceResultSchema = z.discriminatedUnion('success', [
  z.object({ id: z.string(), success: z.literal(true) }),
  z.object({ id: z.string(), success: z.literal(false), error: z.string(), errorDescription: z.string() }),
]);

/** What one instance of a fleet has answered to a command. */
export type InstanceResult = z.output<typeof instanceResultSchema>;
