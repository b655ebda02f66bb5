import { z } from 'zod';

/** The `verification` document of a start request. */
export const verificationSchema = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether the embedded verifier runs.'),
});

/** Phases of the verifier on one cluster, from the earliest to the latest. */
export const verificationPhases = ['not started', 'initial hashing', 'stream hashing'] as const;

/** Phase of the verifier on one cluster. */
export type VerificationPhase = (typeof verificationPhases)[number];
