import type { DdlOperation, EntryNamespace, OplogOperation } from '../oplog/entry.js';
import type { StreamScope } from './shard-stream.js';

/** Databases whose changes no stream over the cluster shows. */
const INTERNAL_DATABASES: ReadonlySet<string> = new Set(['admin', 'config', 'local']);
/** Collections that only `showSystemEvents` adds to a stream. */
const SHOWN_SYSTEM_COLLECTION = /^system\.(js$|resharding\.|buckets\.|views$)/;

interface ScopeOptions {
  readonly scope: StreamScope;
  /**
   * True for a stream on this shard alone, before 6.0: it shows the events of new shards that are meant for routers.
   */
  readonly newShards: boolean;
  readonly expanded: boolean;
  readonly systemEvents: boolean;
}

/** Decides which operations a stream shows, and which end it. */
export class ScopeFilter {
  readonly #known = new WeakMap<EntryNamespace, boolean>();
  readonly #scope: StreamScope;

  constructor(private readonly options: ScopeOptions) {
    this.#scope = options.scope;
  }

  shows(operation: OplogOperation): boolean {
    if (isHidden(operation) && !this.options.systemEvents) return false;
    switch (operation.kind) {
      case 'silent':
        return false;
      case 'newShard':
        return this.options.newShards && this.#showsTarget(operation.target);
      case 'dropDatabase':
        return this.#scope.kind !== 'collection' && this.#showsDatabase(operation.db);
      case 'rename':
        return this.#showsTarget(operation.target) || this.#showsName(operation.to.db, operation.to.collection);
      case 'definition':
        return this.#showsDdl(operation);
      default:
        return this.#showsTarget(operation.target);
    }
  }

  /** True when the operation ends the stream after its own event. */
  invalidatedBy(operation: OplogOperation): boolean {
    if (isHidden(operation)) return false;
    if (operation.kind === 'dropDatabase') return this.#scope.kind === 'database';
    return this.#scope.kind === 'collection' && (operation.kind === 'drop' || operation.kind === 'rename');
  }

  #showsDdl(operation: DdlOperation): boolean {
    const isOfViews = operation.target.collection === 'system.views';
    return this.options.expanded && this.#showsTarget(operation.target) && (!isOfViews || this.options.systemEvents);
  }

  #showsTarget(target: EntryNamespace): boolean {
    const known = this.#known.get(target);
    if (known !== undefined) return known;
    const shown = this.#showsName(target.db, target.collection);
    this.#known.set(target, shown);
    return shown;
  }

  #showsName(db: string, collection: string): boolean {
    const scope = this.#scope;
    if (scope.kind === 'collection') return scope.db === db && scope.collection === collection;
    return this.#showsDatabase(db) && (!collection.startsWith('system.') || this.#showsSystem(collection));
  }

  #showsSystem(collection: string): boolean {
    if (collection === 'system.views') return this.options.expanded;
    return this.options.systemEvents && SHOWN_SYSTEM_COLLECTION.test(collection);
  }

  #showsDatabase(db: string): boolean {
    return this.#scope.kind === 'cluster' ? !INTERNAL_DATABASES.has(db) : this.#scope.db === db;
  }
}

/** Only streams with system events show what a chunk migration or a router has done on this shard. */
function isHidden(operation: OplogOperation): boolean {
  return 'fromMigrate' in operation && operation.fromMigrate;
}
