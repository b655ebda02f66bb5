import { isIdIndex } from '../../catalog/index-spec.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { isCollated } from '../../catalog/share-bounds.js';
import type { VerifiedCollection } from '../../verify/embedded/verified-collection.js';
import type { VerifiedCatalog } from '../../verify/embedded/verifier-context.js';
import { followedCatalog, type FollowedEntry } from './followed-catalog.js';
import { type MigrationContext, readBegunCatalog } from '../migration/migration-context.js';
import { shareCollection } from './share-collections.js';

/** The last digits of a UUID are random: by them collections are dealt over the shares. */
const dealtDigits = 8;

/** The collections that a migration follows, as its verifiers see them. */
export class VerificationCatalog {
  #begun: Catalog | null = null;
  #last: VerifiedCatalog | null = null;

  constructor(private readonly context: Pick<MigrationContext, 'watch' | 'journal' | 'metadata' | 'source' | 'destination'>) {}

  /** As of the definition changes that are applied now. */
  async read(signal: AbortSignal): Promise<VerifiedCatalog> {
    const { watch, journal } = this.context;
    const { done } = watch.view.record.definitions;
    if (this.#last?.ordinal === done) return this.#last;
    this.#begun ??= await readBegunCatalog(this.context, signal);
    const definitions = await journal.readAfter(0, done, signal);
    const { entries } = followedCatalog(this.#begun, definitions);
    this.#last = { ordinal: done, collections: entries.flatMap((followed) => (followed.entry.type === 'collection' ? [this.#verified(followed)] : [])) };
    return this.#last;
  }

  #verified(followed: FollowedEntry): VerifiedCollection {
    const { source, destination } = this.context;
    const { entry, copy, notBefore } = followed;
    return {
      key: `${copy}@${notBefore}`,
      copy,
      copiers: source.shardIds.filter((id) => shareCollection(followed, id, source, destination) !== null),
      database: entry.database,
      name: entry.name,
      unordered: isCollated(entry) || !hasIdIndex(entry),
      capped: entry.options.capped === true,
      sizeBytes: entry.sizeBytes,
      documentCount: Math.round(entry.documentCount),
      planner: Number.parseInt(entry.uuid.slice(-dealtDigits), 16) % source.shardIds.length,
    };
  }
}

/** The copy that a comparison, by its key, is of. */
export function copyOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('@'));
}

function hasIdIndex({ indexes, options }: CatalogEntry): boolean {
  return options.clusteredIndex !== undefined || indexes.some(isIdIndex);
}
