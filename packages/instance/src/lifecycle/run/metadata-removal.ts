import type { NodeClient } from '../../cluster/node-client.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { swapsOf } from '../../store/reversal.js';
import type { Runtime } from '../migration/runtime.js';
import { migrationName, type MigrationWatch } from '../migration/migration-watch.js';

/** Pause between two looks: a committed process has nothing else to do, and a cleanup is not urgent news. */
const look_ms = 5_000;

/**
 * Whether the metadata of a committed migration is gone: a cleanup has removed it, and perhaps another migration is
 * recorded in its place. Nothing depends on it any more, but progress says so.
 */
export class MetadataRemoval {
  #isRemoved = false;

  /** @param home router or replica set of the cluster with the metadata */
  constructor(
    private readonly home: NodeClient,
    private readonly runtime: Runtime,
    private readonly migration: MigrationWatch,
  ) {}

  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Looks again and again once the migration is committed; never rejects, and ends with the signal. */
  async watch(signal: AbortSignal): Promise<void> {
    const { runtime } = this;
    try {
      await this.migration.until(({ record }) => record.phase === 'committed', signal);
      do await runtime.clock.sleep(look_ms, signal);
      while (!(await this.#look(signal)));
    } catch {
      return;
    }
    this.#isRemoved = true;
    runtime.logger.info({ event: 'metadataRemoved' }, 'the metadata of the committed migration is gone');
  }

  /** A look that fails is repeated without a warning: the destination may be away for good. */
  async #look(signal: AbortSignal): Promise<boolean> {
    const records = new MigrationRecords(new Metadata(this.home, (_what, operation) => operation()));
    try {
      const found = await records.read(signal);
      return found === null || isOther(found, this.migration.view.record);
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

/** A reverse of the same migration has more turns. */
function isOther(found: MigrationRecord, shown: MigrationRecord): boolean {
  return swapsOf(found) <= swapsOf(shown) && migrationName(found) !== migrationName(shown);
}
