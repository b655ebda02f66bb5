import { makeUuid } from '../bson/uuid.js';
import type { Doc } from '../bson/value.js';
import type { FailPoint } from '../faults/fail-point.js';
import { doc } from '../node/doc-fields.js';
import type { ClusterShard } from './cluster-shard.js';
import type { ConfigStore } from './config-store.js';

const operations = 'reshardingOperations';

/** What is moved or distributed anew under another UUID. */
export interface Resharding {
  readonly namespace: string;
  /** The key from then on. */
  readonly key: Doc;
  /** The command that began it; since 8.0. */
  readonly provenance: string;
}

/** The reshardings of a cluster that hang before their writes are blocked. All others end at once. */
export class Reshardings {
  /** Fail point of the config server (`reshardingPauseCoordinatorBeforeBlockingWrites`). */
  point: FailPoint | null = null;

  constructor(
    private readonly store: ConfigStore,
    private readonly namesCommands: () => boolean,
  ) {}

  /**
   * Hangs while the fail point is set: then the resharding stands in `config`, and among the operations of a shard.
   * @param primary the primary shard of its database
   */
  async hold({ namespace, key, provenance }: Resharding, primary: ClusterShard, signal: AbortSignal): Promise<void> {
    if (this.point?.active !== true) return;
    const id = makeUuid();
    const begun = this.namesCommands() ? doc(['provenance', provenance]) : doc();
    await this.store.put(operations, doc(['_id', id], ['ns', namespace], ...begun, ['state', 'applying']));
    const desc = 'ReshardCollectionCoordinator';
    const command = doc(['key', key], ...begun);
    await primary.access.coordinating({ desc, namespace, command, phase: 'reshard' }, this.point.held(signal));
    await this.store.remove(operations, doc(['_id', id]));
  }
}
