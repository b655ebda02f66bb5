import { z } from 'zod';
import type { Horizon } from '@convoy/api/fleet/fleet';

/** Characters of a message that are read at most: far above any horizon. */
const MESSAGE_CHARACTERS_MAX = 4 * 1024;

const horizonSchema = z.object({
  migration: z.string(),
  // JSON has no whole numbers of 64 bits.
  time: z.string().regex(/^\d{1,20}$/).transform((digits) => BigInt(digits)),
  ordinal: z.int().nonnegative(),
});

/** The text of a horizon, as it is published. */
export function encodeHorizon({ migration, time, ordinal }: Horizon): string {
  return JSON.stringify({ migration, time: time.toString(), ordinal });
}

/** Reads a horizon of another process; null when it is none. */
export function decodeHorizon(text: string): Horizon | null {
  if (text.length > MESSAGE_CHARACTERS_MAX) return null;
  try {
    return horizonSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
