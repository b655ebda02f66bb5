import { z } from 'zod';
import { idleProgress, migrationStates, progressSchema } from './progress.js';

const rate = z.number().nonnegative().nullable();
const count = z.int().nonnegative().nullable();

/**
 * Problems of an instance within its fleet. `missing`: the source needs it, and it never registered. `silent`: no
 * heartbeat. `unexpected`: the source has no shard for it. `otherRelease`, `otherClusters`: it differs from the rest.
 */
export const instanceProblems = ['missing', 'silent', 'unexpected', 'otherRelease', 'otherClusters'] as const;

/** One instance as a row of the fleet's progress. Values that it has not reported are null. */
export const fleetInstanceSchema = z.object({
  id: z.string().describe('Name of its source shard, or single for a lone instance.'),
  syncID: z.string().nullable(),
  release: z.string().nullable(),
  problems: z.array(z.enum(instanceProblems)).describe('Its problems within the fleet.'),
  reachable: z.boolean().describe('Whether its heartbeats arrive in time.'),
  secondsSinceHeartbeat: count,
  state: z.enum(migrationStates).nullable(),
  canCommit: z.boolean(),
  info: z.string().nullable(),
  lagTimeSeconds: count,
  totalEventsApplied: count,
  eventsPerSecond: rate,
  estimatedCopiedBytes: count,
  copyBytesPerSecond: rate,
  error: z.string().nullable().describe('Name of the failure that ended the migration.'),
  errorDescription: z.string().nullable(),
});

/** The reply of `GET /api/v1/instances`. */
export const instancesReplySchema = z.object({ success: z.literal(true), instances: z.array(fleetInstanceSchema) });

/** The `progress` document of the fleet API: the contract's fields for the whole fleet, and its instances. */
export const fleetProgressSchema = progressSchema.extend({
  instances: z.array(fleetInstanceSchema).nullable(),
  percent: z.number().min(0).max(100).nullable().describe('Copied bytes in per cent of the total, over all instances.'),
  copyBytesPerSecond: rate,
  eventsPerSecond: rate,
  secondsRemaining: count.describe('Estimated seconds until the copy ends; null when unknown.'),
  copyEndsAt: z.string().nullable().describe('Estimated end of the copy, ISO 8601; null when unknown.'),
});

/** One of `instanceProblems`. */
export type InstanceProblem = (typeof instanceProblems)[number];
/** One row of `FleetProgress.instances`. */
export type FleetInstance = z.output<typeof fleetInstanceSchema>;
/** The reply of `GET /api/v1/instances`. */
export type InstancesReply = z.output<typeof instancesReplySchema>;
/** What the fleet API's `GET /api/v1/progress` reports. */
export type FleetProgress = z.output<typeof fleetProgressSchema>;

/** Progress of a fleet in IDLE. */
export function idleFleetProgress(): FleetProgress {
  return {
    ...idleProgress(),
    instances: null,
    percent: null,
    copyBytesPerSecond: null,
    eventsPerSecond: null,
    secondsRemaining: null,
    copyEndsAt: null,
  };
}
