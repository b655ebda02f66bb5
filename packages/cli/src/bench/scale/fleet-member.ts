import type { Mark } from './member-order.js';

/** A member of a fleet under measurement. */
export interface FleetMember {
  /** Whether it holds the leader lease. */
  readonly leads: boolean;
  /** Reports a value that it has never reported before. */
  mark(): Mark;
  close(): Promise<void>;
}
