import { compareByLookup } from '../compare/compare-by-lookup.js';
import { compareRange, type Finding } from '../compare/compare-range.js';
import type { KnownTimes } from '../standalone/comparison-context.js';
import type { FindContext } from '../compare/find-documents.js';
import { OrderedDocuments } from '../compare/ordered-documents.js';
import { foundStanding } from './standing.js';
import { storedMismatch } from './stored-mismatch.js';
import type { BookedCollection, VerificationBook } from './verification-book.js';
import type { VerifiedPart } from './verified-collection.js';
import type { VerifierContext } from './verifier-context.js';

/** What was compared is stored this often. */
const record_ms = 2_000;
/** While applying is behind or comes first, or too many documents differ, it is looked this often whether that has passed. */
const pause_ms = 250;

/** The collection that was being compared is no longer followed as it was. */
export class CollectionLeftError extends Error {
  override readonly name = 'CollectionLeftError';
}

/** What comparing a part needs beside the context. */
export interface FirstGenerationHooks {
  book: VerificationBook;
  /** Resolves while there is room for documents that differ. */
  untilRoom(signal: AbortSignal): Promise<void>;
  /** Documents that differ were stored. */
  found(count: number): void;
}

/**
 * Compares a part of a collection from where it was left. Whatever differs is stored before what was compared is.
 * @throws CollectionLeftError; what the doors throw beyond their retries
 */
export async function comparePart(context: VerifierContext, hooks: FirstGenerationHooks, booked: BookedCollection, part: VerifiedPart, times: KnownTimes, signal: AbortSignal): Promise<void> {
  await (booked.collection.unordered ? compareUnordered : compareOrdered)(context, hooks, booked, part, times, signal);
  part.done = true;
  refuseLeft(hooks, booked);
  await hooks.book.saveParts(booked);
}

async function compareOrdered(context: VerifierContext, hooks: FirstGenerationHooks, booked: BookedCollection, part: VerifiedPart, times: KnownTimes, signal: AbortSignal): Promise<void> {
  const { database, name: collection } = booked.collection;
  const { lower, upper } = part;
  const before = { source: part.source, destination: part.destination };
  const reading = (side: 'source' | 'destination') => new OrderedDocuments(context[side].router, { database, collection, lower, upper, after: times[side] }, context.retrying, signal);
  const [source, destination] = [reading('source'), reading('destination')];
  let recorded_ms = context.clock.monotonic_ms();
  const count = (): void => {
    part.source = before.source + source.takenDocuments;
    part.destination = before.destination + destination.takenDocuments;
  };
  try {
    await compareRange(source, destination, {
      found: (findings) => store(context, hooks, booked, findings),
      async reached(next) {
        count();
        await mayGoOn(context, hooks, booked, signal);
        if (context.clock.monotonic_ms() - recorded_ms < record_ms) return;
        part.lower = next;
        await hooks.book.saveParts(booked);
        recorded_ms = context.clock.monotonic_ms();
      },
    });
    count();
  } finally {
    await Promise.all([source.close(), destination.close()]);
  }
}

/** A collection in no known order is compared as a whole, and from the beginning when that fails. */
async function compareUnordered(context: VerifierContext, hooks: FirstGenerationHooks, booked: BookedCollection, part: VerifiedPart, times: KnownTimes, signal: AbortSignal): Promise<void> {
  const { database, name: collection } = booked.collection;
  const on = (side: 'source' | 'destination'): FindContext => ({ door: context[side].router, database, collection, after: times[side], signal });
  const compare = async (): Promise<void> => {
    [part.source, part.destination] = [0, 0];
    await compareByLookup(on('source'), on('destination'), {
      async found(findings) {
        await mayGoOn(context, hooks, booked, signal);
        await store(context, hooks, booked, findings);
      },
      compared(batch) {
        part.source += batch.sourceDocuments;
        part.destination += batch.destinationDocuments;
      },
    });
  };
  await context.retrying('compare by lookup', compare, signal);
}

async function mayGoOn(context: VerifierContext, hooks: FirstGenerationHooks, booked: BookedCollection, signal: AbortSignal): Promise<void> {
  while (context.isApplyBehind() || context.isDraining()) await context.clock.sleep(pause_ms, signal);
  await hooks.untilRoom(signal);
  refuseLeft(hooks, booked);
}

async function store({ storage, clock }: VerifierContext, hooks: FirstGenerationHooks, booked: BookedCollection, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return;
  refuseLeft(hooks, booked);
  const now = new Date(clock.now_ms());
  await storage.putMismatches(findings.map(({ id, kind }) => storedMismatch(booked.collection, id, { kind, paths: [] }, { first: now, last: now, looks: 1, ordinal: hooks.book.ordinal, standing: foundStanding })));
  hooks.found(findings.length);
}

function refuseLeft({ book }: FirstGenerationHooks, booked: BookedCollection): void {
  if (book.get(booked.collection.key) !== booked) throw new CollectionLeftError();
}
