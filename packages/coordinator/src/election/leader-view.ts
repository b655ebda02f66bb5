import type { Leader } from '@convoy/api/fleet/fleet';
import type { Watchers } from '@convoy/api/fleet/watchers';
import type { LeaseHolder } from './leader-lease.js';

/**
 * The leader that one process knows. It keeps the last known leader while Redis does not respond, and drops it only
 * after reading a vacant lease.
 */
export class LeaderView {
  #holder: LeaseHolder | null = null;

  constructor(private readonly watchers: Watchers) {}

  leader(): Leader | null {
    return this.#holder === null ? null : { id: this.#holder.id, syncID: this.#holder.syncID };
  }

  /** Updates from the lease's content; null for a vacant lease. */
  see(holder: LeaseHolder | null): void {
    const changed = holder?.incarnation !== this.#holder?.incarnation || holder?.syncID !== this.#holder?.syncID;
    this.#holder = holder;
    if (changed) this.watchers.notify('leader');
  }
}
