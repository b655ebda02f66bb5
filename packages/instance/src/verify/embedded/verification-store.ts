import type { Document } from 'mongodb';
import { namespaceOf } from '../../catalog/namespace.js';
import type { Namespace } from '../../cluster/node-client.js';
import { SerialQueue } from '../../async/waiting.js';
import type { Side } from '../compare/sides.js';
import { TouchedKeys } from './touched-keys.js';
import {
  type CollectionToVerify,
  partsOf,
  restoredPart,
  restoredPlan,
  storedPart,
  type VerificationPart,
  type VerificationPlan,
  type CatalogToVerify,
  type VerifierDependencies,
} from './verification-plan.js';

/** A collection with the progress of its comparison. */
export interface BookedCollection {
  collection: CollectionToVerify;
  /** Null until it is planned. */
  plan: VerificationPlan | null;
  /** This sync task's parts; empty before the plan. */
  parts: VerificationPart[];
}

/**
 * What one sync task's verifier knows: the collections, their plans, its parts of them, and the keys that were written.
 */
export class VerificationStore {
  readonly #collections = new Map<string, BookedCollection>();
  readonly #names = new Map<string, string>();
  readonly keys: TouchedKeys;
  #catalog: CatalogToVerify | null = null;
  #found: Map<string, VerificationPart[]> = new Map();
  readonly #taken = new Set<VerificationPart>();
  /** The recorded progress of parts that were taken; their own runs ahead of it. */
  readonly #reached = new WeakMap<VerificationPart, Document>();
  readonly #saving = new SerialQueue();

  constructor(private readonly deps: VerifierDependencies) {
    this.keys = new TouchedKeys(deps.keysBytesMax);
  }

  /** Takes over what earlier owners of the sync task stored. */
  async open(): Promise<void> {
    const stored = await this.deps.storage.claim();
    this.#found = new Map(
      stored.map((document) => [String(document.key), (document.parts as Document[]).map(restoredPart)]),
    );
  }

  /** Entries of the DDL journal that the store includes; -1 before the first. */
  get ordinal(): number {
    return this.#catalog?.ordinal ?? -1;
  }

  get collections(): Iterable<BookedCollection> {
    return this.#collections.values();
  }

  /** Undefined once a collection is no longer followed under the key. */
  get(key: string): BookedCollection | undefined {
    return this.#collections.get(key);
  }

  /** The planned collection under its name on one side. */
  named(side: Side, namespace: Namespace): BookedCollection | undefined {
    return this.#collections.get(this.#names.get(nameOn(side, namespace)) ?? '');
  }

  isOwn({ collection }: BookedCollection): boolean {
    return collection.planner === this.deps.task;
  }

  /** All collections have known plans, and so this sync task knows all its parts. */
  get isPlanned(): boolean {
    return this.#catalog !== null && [...this.#collections.values()].every(({ plan }) => plan !== null);
  }

  /** Own collections without a plan. */
  get unplanned(): BookedCollection[] {
    return [...this.#collections.values()].filter((entry_) => entry_.plan === null && this.isOwn(entry_));
  }

  /** Collections that other sync tasks plan, and whose plans are not known here. */
  get unknown(): BookedCollection[] {
    return [...this.#collections.values()].filter((entry_) => entry_.plan === null && !this.isOwn(entry_));
  }

  /** Own collections whose changes must be read. */
  get streamed(): BookedCollection[] {
    return [...this.#collections.values()].filter((entry_) => entry_.plan !== null && this.isOwn(entry_));
  }

  /** All known parts are compared. */
  get isCompared(): boolean {
    return [...this.#collections.values()].every(({ parts }) => parts.every(({ done }) => done));
  }

  /** Whether `takePart` has one. */
  get hasPart(): boolean {
    return this.#nextPart() !== undefined;
  }

  /** Takes the next part to compare, until `release`; undefined when none is left. */
  takePart(): { entry_: BookedCollection; part: VerificationPart } | undefined {
    const next = this.#nextPart();
    if (next === undefined) return undefined;
    this.#taken.add(next.part);
    if (!this.#reached.has(next.part)) this.#reached.set(next.part, storedPart(next.part));
    return next;
  }

  #nextPart(): { entry_: BookedCollection; part: VerificationPart } | undefined {
    for (const entry_ of this.#collections.values()) {
      const part = entry_.parts.find((each) => !each.done && !this.#taken.has(each));
      if (part !== undefined) return { entry_, part };
    }
    return undefined;
  }

  /** Returns a part that is compared, or whose comparison failed. */
  release(part: VerificationPart): void {
    this.#taken.delete(part);
  }

  /** Updates the collections to the current ones. */
  async takeCatalog(signal: AbortSignal): Promise<void> {
    const catalog = await this.deps.migration.catalog(signal);
    if (catalog === this.#catalog) return;
    const keys = new Set(catalog.collections.map(({ key }) => key));
    for (const key of [...this.#collections.keys()]) if (!keys.has(key)) await this.#forget(key);
    const fresh = catalog.collections.filter(({ key }) => !this.#collections.has(key));
    for (const collection of fresh) this.#collections.set(collection.key, { collection, plan: null, parts: [] });
    if (this.#catalog === null) await this.#restorePlans(fresh);
    this.#catalog = catalog;
    for (const key of this.#found.keys()) if (!keys.has(key)) await this.deps.storage.forget(key);
    this.#found.clear();
  }

  /** Adds a plan, and this sync task's parts of it. */
  setPlan(key: string, stored: Document, parts?: VerificationPart[]): void {
    const entry_ = this.#collections.get(key);
    if (entry_ === undefined || entry_.plan !== null) return;
    const { task, tasks } = this.deps;
    entry_.plan = restoredPlan(stored);
    entry_.parts = parts ?? partsOf(entry_.plan, entry_.collection.planner, task, tasks);
    if (this.isOwn(entry_)) for (const name of namesOf(entry_)) this.#names.set(name, key);
  }

  /** Reads the plans of some collections, if they exist. */
  async takePlans(collections: readonly BookedCollection[]): Promise<void> {
    if (collections.length === 0) return;
    const stored = await this.deps.storage.plansOf(collections.map(({ collection }) => collection.key));
    for (const plan of stored) this.setPlan(String(plan._id), plan);
  }

  /** Stores the present progress of a part durably, with what other parts of its collection have recorded. */
  async savePart(entry_: BookedCollection, part: VerificationPart): Promise<void> {
    this.#reached.set(part, storedPart(part));
    await this.#saveParts(entry_);
  }

  /** One after the other: an earlier progress never follows a later one. */
  #saveParts({ collection, parts }: BookedCollection): Promise<void> {
    const reached = parts.map((part) => this.#reached.get(part) ?? storedPart(part));
    return this.#saving.run(() => this.deps.storage.saveParts(collection.key, reached));
  }

  /**
   * Restarts the comparison of all parts of some collections, including those of other sync tasks; this sync task
   * compares them.
   */
  async compareAllAgain(condition: (entry_: BookedCollection) => boolean): Promise<void> {
    for (const entry_ of this.#collections.values()) {
      if (entry_.plan === null || !condition(entry_)) continue;
      entry_.parts = partsOf(entry_.plan, 0, 0, 1);
      await this.#saveParts(entry_);
    }
  }

  async #restorePlans(collections: readonly CollectionToVerify[]): Promise<void> {
    for (const stored of await this.deps.storage.plansOf(collections.map(({ key }) => key))) {
      const key = String(stored._id);
      this.setPlan(key, stored, this.#found.get(key));
    }
  }

  async #forget(key: string): Promise<void> {
    const entry_ = this.#collections.get(key);
    this.#collections.delete(key);
    this.keys.forget(key);
    for (const name of entry_ === undefined ? [] : namesOf(entry_))
      if (this.#names.get(name) === key) this.#names.delete(name);
    await this.deps.storage.forget(key);
  }
}

function namesOf({ collection: { on } }: BookedCollection): string[] {
  return [nameOn('source', on.source), nameOn('destination', on.destination)];
}

function nameOn(side: Side, namespace: Namespace): string {
  return `${side}/${namespaceOf(namespace)}`;
}
