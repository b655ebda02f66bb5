import type { Doc } from '../bson/value.js';
import type { FailPoint } from '../faults/fail-point.js';
import { doc } from '../node/doc-fields.js';

/** A change of several shards, as it is shown on the shard that leads it. */
export interface Coordinated {
  /** The name that servers give its coordinator. */
  readonly desc: string;
  /** A database or a collection. */
  readonly namespace: string;
  readonly command: Doc;
  readonly phase: string;
}

/** The changes of several shards that this shard leads and that hang. */
export class ShownCoordinators {
  /** Fail point at which a database hangs before it is cloned. Null where there are no fail points. */
  clonePoint: FailPoint | null = null;
  readonly #running = new Set<Coordinated>();

  /** Shows a change until something has happened. */
  async during(change: Coordinated, until: Promise<void>): Promise<void> {
    this.#running.add(change);
    await until.finally(() => this.#running.delete(change));
  }

  /** As `$currentOp` of 8.0.10 shows them. */
  get shown(): Doc[] {
    return [...this.#running].map(({ desc, namespace, command, phase }) =>
      doc(
        ['type', 'op'],
        ['ns', namespace],
        ['desc', desc],
        ['op', 'command'],
        ['active', true],
        ['command', command],
        ['currentPhase', phase],
      ),
    );
  }
}
