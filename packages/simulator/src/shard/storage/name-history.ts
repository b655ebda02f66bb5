import type { Collection } from './collection.js';
import type { History } from './history.js';
import { PENDING, type TimeKey } from './time-key.js';

/** The times between which a collection had a name. */
interface Placement {
  readonly collection: Collection;
  readonly namespace: string;
  readonly from: TimeKey;
  to: TimeKey;
}

/** The collections and their names at the times of the history window, dropped ones included. */
export class NameHistory {
  readonly #byName = new Map<string, Placement[]>();
  readonly #byUuid = new Map<string, Placement[]>();

  constructor(private readonly history: History) {}

  /** From `time` on the collection has its current name. */
  begin(collection: Collection, time: TimeKey): void {
    const placement = { collection, namespace: collection.namespace, from: time, to: PENDING };
    add(this.#byName, placement.namespace, placement);
    add(this.#byUuid, uuidOf(collection), placement);
  }

  /** From `time` on the collection does not have its current name. The history drops the past in time. */
  end(collection: Collection, time: TimeKey): void {
    const placement = this.#byUuid.get(uuidOf(collection))?.at(-1);
    if (placement === undefined || placement.to !== PENDING) return;
    placement.to = time;
    this.history.retire(time, 0, () => {
      remove(this.#byName, placement.namespace, placement);
      remove(this.#byUuid, uuidOf(collection), placement);
    });
  }

  /** The collection under a name at a time. */
  named(namespace: string, time: TimeKey): Collection | undefined {
    return at(this.#byName.get(namespace), time)?.collection;
  }

  /** The collection with a UUID, and its name, at a time. @param uuid in hex */
  withUuid(uuid: string, time: TimeKey): Pick<Placement, 'collection' | 'namespace'> | undefined {
    return at(this.#byUuid.get(uuid), time);
  }
}

function uuidOf({ uuid }: Collection): string {
  return uuid.toString('hex');
}

function at(placements: readonly Placement[] | undefined, time: TimeKey): Placement | undefined {
  return placements?.find(({ from, to }) => from <= time && time < to);
}

function add(placements: Map<string, Placement[]>, key: string, placement: Placement): void {
  const known = placements.get(key);
  if (known === undefined) placements.set(key, [placement]);
  else known.push(placement);
}

function remove(placements: Map<string, Placement[]>, key: string, placement: Placement): void {
  const left = placements.get(key)?.filter((each) => each !== placement) ?? [];
  if (left.length === 0) placements.delete(key);
  else placements.set(key, left);
}
