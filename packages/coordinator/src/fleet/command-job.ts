import { z } from 'zod';
import { commandNames } from '@convoy/api/contract/commands';
import { type CommandResult, commandResultSchema } from '@convoy/api/fleet/fleet';
import type { FleetSignature, MessageKind } from '../redis/signature.js';

/** Attempts of a command that fails with an `automatic` error. */
export const COMMAND_ATTEMPTS_MAX = 3;
/** Delay before the second attempt in milliseconds; it doubles with each further one. */
const BACKOFF_MS = 200;
/** Finished jobs to keep per queue: enough to recognise repeated commands and to debug a night's trouble. */
const JOBS_RETAINED = 200;
/** Entries to keep in a queue's event stream, for processes that wait for a result. */
export const EVENTS_RETAINED = 1_000;

/** Options of every command job. */
export const jobOptions = {
  attempts: COMMAND_ATTEMPTS_MAX,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: { count: JOBS_RETAINED },
  removeOnFail: { count: JOBS_RETAINED },
} as const;

const jobDataSchema = z.object({
  name: z.enum(commandNames),
  body: z.unknown(),
  /** After this time of the Redis server the sender no longer waits, and the instance must not run the command. */
  expiresAt_ms: z.number(),
});

const sealedSchema = z.strictObject({ sealed: z.string() });

/** A queued command; the job's id is the command's. */
export type CommandJobData = z.output<typeof jobDataSchema>;

/** A job's data as it is queued: signed text where the fleet has a secret. */
export function sealJobData(
  signature: FleetSignature,
  instanceId: string,
  commandId: string,
  data: CommandJobData,
): unknown {
  return sealValue(signature, 'command', [instanceId, commandId], data);
}

/** Whether a command's signature is that of this fleet for this instance and id, and its content if it is readable. */
export interface OpenedJob {
  readonly isSigned: boolean;
  /** Null when it is not a command of this release. */
  readonly data: CommandJobData | null;
}

/** Opens a job's data. */
export function openJobData(
  signature: FleetSignature,
  instanceId: string,
  commandId: string,
  data: unknown,
): OpenedJob {
  const opened = openValue(signature, 'command', [instanceId, commandId], data, 'recent');
  return { isSigned: opened !== undefined, data: jobDataSchema.safeParse(opened).data ?? null };
}

/** A result as the instance returns it. */
export function sealResult(
  signature: FleetSignature,
  instanceId: string,
  commandId: string,
  result: CommandResult,
): unknown {
  return sealValue(signature, 'result', [instanceId, commandId], result);
}

function sealValue(signature: FleetSignature, kind: MessageKind, about: readonly string[], value: object): unknown {
  const text = JSON.stringify(value);
  const sealed = signature.seal(kind, about, text);
  return sealed === text ? value : { sealed };
}

/** Undefined when the signature is refused. */
function openValue(
  signature: FleetSignature,
  kind: MessageKind,
  about: readonly string[],
  value: unknown,
  age: 'recent' | 'any',
): unknown {
  const sealed = sealedSchema.safeParse(value).data?.sealed;
  const text = signature.open(kind, about, sealed ?? JSON.stringify(value ?? null), age);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/**
 * Opens a job's return value; null when it is not a result that the instance signed, or there is none. A repeated
 * command reads old ones.
 */
export function openResult(
  signature: FleetSignature,
  instanceId: string,
  commandId: string,
  value: unknown,
): CommandResult | null {
  // Silence is no forged message.
  if (value === null || value === undefined) return null;
  return (
    commandResultSchema.safeParse(openValue(signature, 'result', [instanceId, commandId], value, 'any')).data ?? null
  );
}
