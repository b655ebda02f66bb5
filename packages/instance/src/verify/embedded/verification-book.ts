import type { Document } from 'mongodb';
import { namespaceOf } from '../../catalog/namespace.js';
import { TouchedKeys } from './touched-keys.js';
import { partsOf, restoredPart, restoredPlan, storedPart, type VerificationPlan, type VerifiedCollection, type VerifiedPart } from './verified-collection.js';
import type { VerifiedCatalog, VerifierContext } from './verifier-context.js';

/** A collection with how far its comparison is. */
export interface BookedCollection {
  collection: VerifiedCollection;
  /** Null until it is planned. */
  plan: VerificationPlan | null;
  /** This share's; empty before the plan. */
  parts: VerifiedPart[];
}

/** What one share's verifier knows: the collections, their plans, the share's parts of them, and the keys that were written to. */
export class VerificationBook {
  readonly #collections = new Map<string, BookedCollection>();
  readonly #names = new Map<string, string>();
  readonly keys: TouchedKeys;
  #catalog: VerifiedCatalog | null = null;
  #found: Map<string, VerifiedPart[]> = new Map();

  constructor(private readonly context: VerifierContext) {
    this.keys = new TouchedKeys(context.keysBytesMax);
  }

  /** Claims what earlier owners of the share have stored. */
  async open(): Promise<void> {
    const stored = await this.context.storage.claim();
    this.#found = new Map(stored.map((document) => [String(document.key), (document.parts as Document[]).map(restoredPart)]));
  }

  /** Entries of the definition journal that the book has taken in; -1 before the first. */
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

  /** The planned collection under a name. */
  named(database: string, name: string): BookedCollection | undefined {
    return this.#collections.get(this.#names.get(namespaceOf({ database, name })) ?? '');
  }

  isOwn({ collection }: BookedCollection): boolean {
    return collection.planner === this.context.share;
  }

  /** The plans of all collections are known, and so is every part that this share has. */
  get isPlanned(): boolean {
    return this.#catalog !== null && [...this.#collections.values()].every(({ plan }) => plan !== null);
  }

  /** Own collections that have no plan yet. */
  get unplanned(): BookedCollection[] {
    return [...this.#collections.values()].filter((booked) => booked.plan === null && this.isOwn(booked));
  }

  /** Collections that other shares plan, and whose plans are not known here. */
  get unknown(): BookedCollection[] {
    return [...this.#collections.values()].filter((booked) => booked.plan === null && !this.isOwn(booked));
  }

  /** Own collections whose changes have to be read. */
  get streamed(): BookedCollection[] {
    return [...this.#collections.values()].filter((booked) => booked.plan !== null && this.isOwn(booked));
  }

  /** The next part to compare; undefined when all that are known are done. */
  get nextPart(): { booked: BookedCollection; part: VerifiedPart } | undefined {
    for (const booked of this.#collections.values()) {
      const part = booked.parts.find(({ done }) => !done);
      if (part !== undefined) return { booked, part };
    }
    return undefined;
  }

  /** Takes the collections as they are now. @returns whether anything has changed */
  async takeCatalog(signal: AbortSignal): Promise<boolean> {
    const catalog = await this.context.catalog(signal);
    if (catalog === this.#catalog) return false;
    const keys = new Set(catalog.collections.map(({ key }) => key));
    for (const key of [...this.#collections.keys()]) if (!keys.has(key)) await this.#forget(key);
    const fresh = catalog.collections.filter(({ key }) => !this.#collections.has(key));
    for (const collection of fresh) this.#collections.set(collection.key, { collection, plan: null, parts: [] });
    if (this.#catalog === null) await this.#restorePlans(fresh);
    this.#catalog = catalog;
    for (const key of this.#found.keys()) if (!keys.has(key)) await this.context.storage.forget(key);
    this.#found.clear();
    return true;
  }

  /** Takes a plan, and this share's parts of it. */
  setPlan(key: string, stored: Document, parts?: VerifiedPart[]): void {
    const booked = this.#collections.get(key);
    if (booked === undefined || booked.plan !== null) return;
    const { share, shares } = this.context;
    booked.plan = restoredPlan(stored);
    booked.parts = parts ?? partsOf(booked.plan, booked.collection.planner, share, shares);
    if (this.isOwn(booked)) this.#names.set(namespaceOf(booked.collection), key);
  }

  /** Reads the plans of some collections, as far as there are any. */
  async takePlans(collections: readonly BookedCollection[]): Promise<void> {
    if (collections.length === 0) return;
    const stored = await this.context.storage.plansOf(collections.map(({ collection }) => collection.key));
    for (const plan of stored) this.setPlan(String(plan._id), plan);
  }

  /** Makes the parts of a collection durable. */
  async saveParts({ collection, parts }: BookedCollection): Promise<void> {
    await this.context.storage.saveParts(collection.key, parts.map(storedPart));
  }

  /** All parts of some collections, those of other shares too, are to be compared again from their beginnings, by this share. */
  async compareAllAgain(condition: (booked: BookedCollection) => boolean): Promise<void> {
    for (const booked of this.#collections.values()) {
      if (booked.plan === null || !condition(booked)) continue;
      booked.parts = partsOf(booked.plan, 0, 0, 1);
      await this.saveParts(booked);
    }
  }

  async #restorePlans(collections: readonly VerifiedCollection[]): Promise<void> {
    for (const stored of await this.context.storage.plansOf(collections.map(({ key }) => key))) {
      const key = String(stored._id);
      this.setPlan(key, stored, this.#found.get(key));
    }
  }

  async #forget(key: string): Promise<void> {
    const booked = this.#collections.get(key);
    this.#collections.delete(key);
    this.keys.forget(key);
    if (booked !== undefined && this.#names.get(namespaceOf(booked.collection)) === key) this.#names.delete(namespaceOf(booked.collection));
    await this.context.storage.forget(key);
  }
}
