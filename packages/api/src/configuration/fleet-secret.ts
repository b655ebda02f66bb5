import { z } from 'zod';
import { Secret } from './secret.js';

/** Shortest secret of a fleet: 128 bits in hexadecimal digits. Nothing makes guessing a shorter one slow. */
const CHARACTERS_MIN = 32;

/** `fleetSecret` of a configuration. */
export const fleetSecretSchema = z
  .string()
  .regex(/^\S+$/, 'must be one word')
  .min(CHARACTERS_MIN, `must have at least ${CHARACTERS_MIN} characters`)
  .transform((text) => new Secret(text));
