import { z } from 'zod';
import { RawValue } from '../../bson/scan.js';
import type { Suspect } from '../compare/check-again.js';

/** A value as text: its type byte and its bytes. */
export function textOfValue({ type, bytes }: RawValue): string {
  return Buffer.concat([Buffer.from([type]), bytes]).toString('base64');
}

/** Restores what `textOfValue` encoded. */
export function valueOfText(text: string): RawValue {
  const bytes = Buffer.from(text, 'base64');
  return new RawValue(bytes.readUInt8(0), bytes.subarray(1));
}

const storedSuspect = z.object({
  collection: z.number(),
  partition: z.number(),
  attempt: z.number(),
  id: z.string(),
  kind: z.enum(['missingOnDestination', 'extraOnDestination', 'different']),
  source: z.string(),
  destination: z.string(),
  unchangedSince_ms: z.number(),
  unchangedLooks: z.number(),
  firstSeen_ms: z.number(),
  looks: z.number(),
});

/** A suspect, and where it was found. */
export type StoredSuspect = SuspectOrigin & Suspect;

/** Where a suspect was found. */
export interface SuspectOrigin {
  collection: number;
  partition: number;
  /** The attempt to compare the partition that found it. */
  attempt: number;
}

export function storeSuspect(origin: SuspectOrigin, suspect: Suspect): z.output<typeof storedSuspect> {
  return { ...origin, ...suspect, id: textOfValue(suspect.id) };
}

/** @throws ZodError for a malformed line */
export function restoreSuspect(line: unknown): StoredSuspect {
  const stored = storedSuspect.parse(line);
  return { ...stored, id: valueOfText(stored.id) };
}
