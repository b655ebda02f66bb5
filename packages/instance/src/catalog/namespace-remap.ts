import { type NamespaceRemap as RemapOption, remapText } from '@convoy/api/contract/namespace-remap';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Namespace } from '../cluster/node-client.js';
import { bucketsOf, seriesOf, shownName } from '../cluster/time-series.js';
import { isReservedCollection, isReservedDatabase, type NamespaceFilter } from './namespace-filter.js';
import { type Catalog, type CatalogEntry, namespaceOf } from './namespace.js';
import { viewSources } from './views.js';

/**
 * The only place where a namespace of the source becomes one of the destination, and back. One to one: two namespaces
 * never have the same name on the destination, even if only one of them exists now.
 */
export interface NamespaceRemap {
  /** @throws ConvoyError `namespaceRemapInvalid` if another namespace of the source has this name on the destination */
  toDestination(source: Namespace): Namespace;
  /** The namespace on the source; null for one that nothing on the source has as its name on the destination. */
  toSource(destination: Namespace): Namespace | null;
  /**
   * A collection or view of the source as the destination has it: under its name there, a view with its `viewOn`.
   * @throws ConvoyError `namespaceRemapInvalid` as `toDestination`, and for a view that would read something else
   */
  onDestination(entry: CatalogEntry): CatalogEntry;
  /** A filter of the source's namespaces as one of the destination's. */
  filterOnDestination(filter: NamespaceFilter): NamespaceFilter;
}

/** Every namespace keeps its name. */
export const noRemap: NamespaceRemap = {
  toDestination: (source) => source,
  toSource: (destination) => destination,
  onDestination: (entry) => entry,
  filterOnDestination: (filter) => filter,
};

/**
 * Compiles the `namespaceRemap` of a start request. An element of a collection is stronger than that of its database.
 * @throws ConvoyError `namespaceRemapInvalid` for databases and collections that belong to the server or to Convoy
 */
export function compileNamespaceRemap(elements: RemapOption | undefined): NamespaceRemap {
  if (elements === undefined) return noRemap;
  for (const { from, to } of elements) for (const namespace of [from, to]) refuseReserved(namespace);
  return new CompiledRemap(elements);
}

function refuseReserved(namespace: RemapOption[number]['from']): void {
  const { database, collection } = namespace;
  if (!isReservedDatabase(database) && !(collection !== undefined && isOwned(collection))) return;
  throw invalid(`${remapText(namespace)} belongs to the server or to Convoy.`);
}

/** Functions of users live and move with their database. */
function isOwned(collection: string): boolean {
  return isReservedCollection(collection) || collection === 'system.js';
}

class CompiledRemap implements NamespaceRemap {
  readonly #databases: Pairs<string>;
  readonly #collections: Pairs<Namespace>;

  constructor(private readonly elements: RemapOption) {
    const whole = elements.filter(({ from }) => from.collection === undefined);
    const single = elements.filter(({ from }) => from.collection !== undefined);
    this.#databases = new Pairs(
      whole.map(({ from, to }) => [from.database, to.database]),
      String,
    );
    this.#collections = new Pairs(
      single.map(({ from, to }) => [namespaceIn(from), namespaceIn(to)]),
      namespaceOf,
    );
  }

  toDestination(source: Namespace): Namespace {
    const found = this.#mapped(source);
    const owner = this.toSource(found);
    if (owner !== null && isSame(owner, source)) return found;
    const [name, other] = [shownName(source), owner === null ? 'another namespace' : shownName(owner)];
    throw invalid(`${name} and ${other} would both be ${shownName(found)} on the destination.`);
  }

  toSource(destination: Namespace): Namespace | null {
    const series = seriesOf(destination.name);
    if (series !== null) {
      const source = this.toSource({ database: destination.database, name: series });
      return source === null ? null : inBuckets(source);
    }
    const single = this.#collections.from(destination);
    if (single !== undefined) return single;
    const database = this.#databases.from(destination.database);
    const moved = database === undefined ? null : { database, name: destination.name };
    if (moved !== null && this.#collections.to(moved) === undefined) return moved;
    return isSame(this.#mapped(destination), destination) ? destination : null;
  }

  onDestination(entry: CatalogEntry): CatalogEntry {
    const { database, name } = this.toDestination(entry);
    if (entry.type !== 'view') return { ...entry, database, name };
    const { viewOn, joined } = viewSources(entry);
    const read = (source: string): Namespace => this.#mapped({ database: entry.database, name: source });
    for (const source of viewOn === null ? joined : [viewOn, ...joined]) {
      const there = read(source);
      if (there.database === database && (there.name === source || !joined.has(source))) continue;
      throw invalid(
        `The view ${namespaceOf(entry)} reads ${entry.database}.${source}, which becomes ${namespaceOf(there)}: ` +
          'Convoy changes no pipelines, and a view reads only its own database. Exclude the view, and make it by hand.',
      );
    }
    const options = viewOn === null ? entry.options : { ...entry.options, viewOn: read(viewOn).name };
    return { ...entry, database, name, options };
  }

  filterOnDestination(filter: NamespaceFilter): NamespaceFilter {
    return {
      mayInclude: (database) => this.#databasesFor(database).some((source) => filter.mayInclude(source)),
      includes: (database, name) => {
        const source = this.toSource({ database, name });
        return source !== null && filter.includes(source.database, source.name);
      },
      documentFilter: (database, name) => {
        const source = this.toSource({ database, name });
        return source === null ? undefined : filter.documentFilter(source.database, source.name);
      },
    };
  }

  #mapped(source: Namespace): Namespace {
    const series = seriesOf(source.name);
    if (series !== null) return inBuckets(this.#mapped({ database: source.database, name: series }));
    const single = this.#collections.to(source);
    if (single !== undefined) return single;
    return { database: this.#databases.to(source.database) ?? source.database, name: source.name };
  }

  /** Databases of the source with namespaces that may be in a database of the destination. */
  #databasesFor(destination: string): string[] {
    return [
      destination,
      ...this.elements.flatMap(({ from, to }) => (to.database === destination ? [from.database] : [])),
    ];
  }
}

/** Two columns without repetitions. */
class Pairs<T> {
  readonly #to: Map<string, T>;
  readonly #from: Map<string, T>;

  constructor(
    pairs: readonly (readonly [T, T])[],
    private readonly nameOf: (value: T) => string,
  ) {
    this.#to = new Map(pairs.map(([from, to]) => [nameOf(from), to]));
    this.#from = new Map(pairs.map(([from, to]) => [nameOf(to), from]));
  }

  to(from: T): T | undefined {
    return this.#to.get(this.nameOf(from));
  }

  from(to: T): T | undefined {
    return this.#from.get(this.nameOf(to));
  }
}

/** Bounds of a full name in bytes (manual, "Limits", from 4.4 on). */
const NAME_BYTES_MAX = 255;
const SHARDED_NAME_BYTES_MAX = 235;

/**
 * The bytes of the full name that servers count, and how many they take: of a time series its own name, and of a
 * sharded one that of its buckets (8.0.10 source, `userAllowedCreateNS` and `assertNamespaceLengthLimit`).
 */
export function nameBounds(entry: Pick<CatalogEntry, 'database' | 'name' | 'sharding'>): {
  bytes: number;
  max: number;
} {
  return entry.sharding === null
    ? { bytes: Buffer.byteLength(shownName(entry)), max: NAME_BYTES_MAX }
    : { bytes: Buffer.byteLength(namespaceOf(entry)), max: SHARDED_NAME_BYTES_MAX };
}

/**
 * Checks that the destination can have everything in a catalog under its name there.
 * @throws ConvoyError `namespaceRemapInvalid`, naming the first namespace that it cannot have
 */
export function refuseUnmappable(remap: NamespaceRemap, catalog: Catalog): void {
  if (remap === noRemap) return;
  const spellings = new Map<string, string>();
  for (const entry of catalog) {
    const there = remap.onDestination(entry);
    const { max, bytes } = nameBounds(there);
    if (bytes > max && !isSame(there, entry))
      throw invalid(`${shownName(entry)} would have a name of more than ${max} bytes on the destination.`);
    const known = spellings.get(there.database.toLowerCase()) ?? there.database;
    if (known !== there.database)
      throw invalid(`The databases ${known} and ${there.database} would differ only in case on the destination.`);
    spellings.set(there.database.toLowerCase(), there.database);
  }
}

function inBuckets({ database, name }: Namespace): Namespace {
  return { database, name: bucketsOf(name) };
}

export function isSame(a: Namespace, b: Namespace): boolean {
  return a.database === b.database && a.name === b.name;
}

function namespaceIn({ database, collection }: RemapOption[number]['from']): Namespace {
  return { database, name: collection ?? '' };
}

function invalid(description: string): ConvoyError {
  return new ConvoyError('namespaceRemapInvalid', description);
}
