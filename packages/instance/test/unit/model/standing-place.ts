import type { Timestamp } from 'mongodb';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { StreamPlace } from '../../../src/cluster/change-stream.js';
import { Waits } from '../../../src/cluster/calls-in-flight.js';

/** A place in which every look at the clock takes a second, so that each reply has taken one. */
export function standingPlace(): StreamPlace {
  let now_ms = 0;
  return { clock: { monotonic_ms: () => (now_ms += 1_000) }, waits: new Waits() };
}

/** The cluster time at the beginning of a second. */
export function second(seconds: bigint): Timestamp {
  return timestampOf(seconds << 32n);
}
