import type { EntryNamespace, OplogOperation } from '../oplog/entry.js';
import type { StreamScope } from '../shard-access.js';

/** Databases whose changes no stream shows. */
const INTERNAL_DATABASES: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/** Tells which operations a stream shows, and which end it. */
export class ScopeFilter {
  readonly #known = new WeakMap<EntryNamespace, boolean>();

  /** @param alone true for a stream on this shard alone, not one that a router merges */
  constructor(
    private readonly scope: StreamScope,
    private readonly alone: boolean,
  ) {}

  shows(operation: OplogOperation): boolean {
    switch (operation.kind) {
      case 'silent':
        return false;
      case 'newShard':
        return this.alone && this.#showsTarget(operation.target);
      case 'dropDatabase':
        return this.#showsDatabase(operation.db);
      case 'rename':
        return this.#showsTarget(operation.target) || this.#showsName(operation.to.db, operation.to.collection);
      default:
        return this.#showsTarget(operation.target);
    }
  }

  /** True when the operation ends the stream behind its own event. */
  invalidatedBy(operation: OplogOperation): boolean {
    if (this.scope.kind === 'cluster') return false;
    if (operation.kind === 'dropDatabase') return true;
    return this.scope.kind === 'collection' && (operation.kind === 'drop' || operation.kind === 'rename');
  }

  #showsTarget(target: EntryNamespace): boolean {
    const known = this.#known.get(target);
    if (known !== undefined) return known;
    const shown = this.#showsName(target.db, target.collection);
    this.#known.set(target, shown);
    return shown;
  }

  #showsName(db: string, collection: string): boolean {
    const { scope } = this;
    if (scope.kind === 'collection') return scope.db === db && scope.collection === collection;
    return !collection.startsWith('system.') && this.#showsDatabase(db);
  }

  #showsDatabase(db: string): boolean {
    return this.scope.kind === 'cluster' ? !INTERNAL_DATABASES.has(db) : this.scope.db === db;
  }
}
