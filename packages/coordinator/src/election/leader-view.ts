import type { Leader } from '@convoy/api/fleet/fleet';
import type { Watchers } from '@convoy/api/fleet/watchers';
import type { LeaseHolder } from './leader-lease.js';

/**
 * Who leads, as far as one process knows. The last known leader stays while Redis cannot be asked, and is forgotten
 * only when the lease was seen vacant.
 */
export class LeaderView {
  readonly #watchers: Watchers;
  #holder: LeaseHolder | null = null;

  constructor(watchers: Watchers) {
    this.#watchers = watchers;
  }

  leader(): Leader | null {
    return this.#holder === null ? null : { id: this.#holder.id, syncID: this.#holder.syncID };
  }

  /** Takes over what the lease was seen to hold; null when it is vacant. */
  see(holder: LeaseHolder | null): void {
    const changed = holder?.incarnation !== this.#holder?.incarnation || holder?.syncID !== this.#holder?.syncID;
    this.#holder = holder;
    if (changed) this.#watchers.notify('leader');
  }
}
