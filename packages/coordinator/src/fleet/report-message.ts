import { z } from 'zod';
import { type InstanceReport, reportSchema } from '@convoy/api/fleet/fleet';
import type { FleetSignature } from '../redis/signature.js';
import { parsed } from '../redis/signed-redis.js';

/** Maximum characters of a message: far above any report, whose largest part are its warnings. */
const MESSAGE_CHARACTERS_MAX = 256 * 1024;

const messageSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('report'), reportedAt_ms: z.number(), sequence: z.int(), report: reportSchema }),
  z.object({ kind: z.literal('left'), id: z.string(), incarnation: z.string() }),
]);

/** Messages among instances: a report, or a voluntary departure. */
export type MemberMessage = z.output<typeof messageSchema>;

/**
 * The text of a report, for storing and publishing.
 * @param sequence number of the report within its process, so that a late report does not replace a later one
 */
export function encodeReport(report: InstanceReport, reportedAt_ms: number, sequence: number): string {
  return JSON.stringify({ kind: 'report', reportedAt_ms, sequence, report } satisfies MemberMessage);
}

/** The text of a departure. */
export function encodeLeft(id: string, incarnation: string): string {
  return JSON.stringify({ kind: 'left', id, incarnation } satisfies MemberMessage);
}

/** Signs the text of a message to all. */
export function sealMessage(signature: FleetSignature, text: string): string {
  return signature.seal('member', [], text);
}

/**
 * Opens a message of another process; null when it is invalid or not signed by this fleet. Stored reports may be of any
 * age: whether they still count as fresh, their time decides.
 */
export function openMessage(signature: FleetSignature, sealed: string, age: 'recent' | 'any'): MemberMessage | null {
  if (sealed.length > MESSAGE_CHARACTERS_MAX) return null;
  const text = signature.open('member', [], sealed, age);
  return text === null ? null : decodeMessage(text);
}

/** Parses a message of another process; null when it is invalid, for example from an unknown release. */
export function decodeMessage(text: string): MemberMessage | null {
  return text.length > MESSAGE_CHARACTERS_MAX ? null : parsed(messageSchema, text);
}

/**
 * What peers decide by, as a text to compare: all of a report but its counters, rates and times. A change of it makes
 * every peer read the report; of other changes only the leader and coordinators learn at once.
 */
export function standingOf(report: InstanceReport): string {
  const { identity, state, failure, ready, expectedIds, clusterIds, optionsDigest, step, refused, progress } = report;
  const { info, canCommit, canWrite, warnings, commitBlockers } = progress;
  return JSON.stringify([
    identity.incarnation,
    state,
    failure,
    ready,
    expectedIds,
    clusterIds,
    optionsDigest,
    step,
    refused,
    [info, canCommit, canWrite],
    (warnings ?? []).map(({ name }) => name),
    (commitBlockers ?? []).map(({ instance, reason }) => [instance, reason]),
  ]);
}
