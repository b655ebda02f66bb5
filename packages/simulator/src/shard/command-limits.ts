import { setTimeout as delay } from 'node:timers/promises';
import type { Doc } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { numberOf } from '../node/doc-fields.js';
import { failure } from './failure.js';

/** Largest `maxTimeMS`, the largest 32-bit integer. */
const MAX_TIME_MS_MAX = 2 ** 31 - 1;

/** The error of a command that took longer than its `maxTimeMS`. */
export function timeExpired(): CommandError {
  return new CommandError(50, 'MaxTimeMSExpired', 'operation exceeded time limit');
}

/** @throws CommandError 2 or 14 for a `maxTimeMS` out of range */
export function refuseInvalidTime(body: Doc): void {
  const given = body.get('maxTimeMS');
  if (given === undefined) return;
  const milliseconds = numberOf(given);
  if (milliseconds === undefined) throw failure.typeMismatch('maxTimeMS must be a number');
  if (!Number.isInteger(milliseconds)) throw failure.badValue(`maxTimeMS has non-integral value`);
  if (milliseconds < 0 || milliseconds > MAX_TIME_MS_MAX)
    throw failure.badValue(`${milliseconds} value for maxTimeMS is out of range [0, ${MAX_TIME_MS_MAX}]`);
}

/**
 * Waits within a command's `maxTimeMS`, and no longer than its client stays connected.
 * @throws CommandError 50 after the time limit, 279 when the client has disconnected
 */
export async function waitWithin(awaited: Promise<unknown>, body: Doc, signal: AbortSignal): Promise<void> {
  const limitMs = numberOf(body.get('maxTimeMS')) ?? 0;
  const over = new AbortController();
  const stop = AbortSignal.any([over.signal, signal]);
  const limit = delay(limitMs > 0 ? limitMs : MAX_TIME_MS_MAX, 'late' as const, { signal: stop, ref: false }).catch(
    () => 'stopped' as const,
  );
  const first = await Promise.race([awaited.then(() => 'done' as const), limit]);
  over.abort();
  if (first === 'late') throw timeExpired();
  if (first === 'stopped')
    throw new CommandError(279, 'ClientDisconnect', 'operation was interrupted because a client disconnected');
}
