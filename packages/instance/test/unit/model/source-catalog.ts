import type { NamedCollection } from './change-events.js';

/** One shard's copy of a DDL change, as a stream of DDL changes shows it. */
export interface ShownDdlChange extends NamedCollection {
  operation: 'create' | 'drop' | 'rename' | 'shardCollection';
  time: bigint;
  to: string | null;
}

interface Naming {
  time: bigint;
  /** Null once it was dropped. */
  name: string | null;
}

/** What the source's collections are called, and were called at any time. */
export class SourceCatalog {
  /** From 6.0 on streams show creations as well. */
  showsCreations = false;
  /** Until 6.x every shard shows its copy of a drop or rename; later ones show one for all. */
  showsEachCopy = true;
  /** All shards' copies of all changes, in order of time. */
  readonly shown: ShownDdlChange[] = [];
  readonly #names = new Map<string, Naming[]>();
  #made = 0;

  /** A UUID that no collection has had. */
  newUuid(): string {
    this.#made += 1;
    return this.#made.toString(16).padStart(32, '0');
  }

  set(uuid: string, name: string | null, time: bigint): void {
    const namings = this.#names.get(uuid) ?? [];
    namings.push({ time, name });
    this.#names.set(uuid, namings);
  }

  /** The present name; null when there is no collection of the UUID. */
  nameOf(uuid: string): string | null {
    return this.#names.get(uuid)?.at(-1)?.name ?? null;
  }

  /** The collection that has a name now. */
  at(name: string): string | null {
    for (const uuid of this.#names.keys()) if (this.nameOf(uuid) === name) return uuid;
    return null;
  }

  /** The last time at which the collection was made or renamed: servers read it at no earlier one. */
  changedAt(uuid: string): bigint {
    return this.#names.get(uuid)?.at(-1)?.time ?? 0n;
  }

  namesAt(time: bigint): NamedCollection[] {
    return [...this.#names].flatMap(([uuid, namings]) => {
      const name = namings.findLast((naming) => naming.time <= time)?.name ?? null;
      return name === null ? [] : [{ uuid, name }];
    });
  }
}
