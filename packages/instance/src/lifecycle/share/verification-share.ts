import type { Binary, Timestamp } from 'mongodb';
import { evenBounds } from '../../bson/even-bounds.js';
import { isLossless } from '../../bson/lossless.js';
import type { RawValue } from '../../bson/scan.js';
import { restoredValue } from '../../bson/stored-value.js';
import { expires } from '../../catalog/expires.js';
import { namespaceOf } from '../../catalog/namespace.js';
import { timeOf, timestampOf, wakeStreams } from '../../cluster/cluster-time.js';
import { codeOf } from '../../cluster/failure.js';
import { sampleIds } from '../../cluster/sample-ids.js';
import { InTurn } from '../../store/in-turn.js';
import { runTogether } from '../../store/run-together.js';
import type { ShareVerification } from '../../store/share-record.js';
import { partitionsName } from '../../store/share-storage.js';
import { VerificationStorage } from '../../store/verification-storage.js';
import { ShareVerifier } from '../../verify/embedded/share-verifier.js';
import type { VerifiedCollection } from '../../verify/embedded/verified-collection.js';
import type { VerifierContext } from '../../verify/embedded/verifier-context.js';
import { steadyLagMax_seconds } from '../figures/catch-up.js';
import { type VerificationFigures, verificationFigures } from '../figures/verification-figures.js';
import { VerificationReadiness } from '../figures/verification-readiness.js';
import { noteDifferences } from '../leader/verification-leader.js';
import { isCommitAwaited, isDraining } from '../migration/commit-awaited.js';
import { type MigrationContext, readCommittedCatalog } from '../migration/migration-context.js';
import { wakeSource } from '../migration/source-time.js';
import type { ShareSync } from './share-sync.js';
import { copyOfKey, VerificationCatalog } from './verification-catalog.js';

/** Where a share's verifier is, is stored this often; what has changed beyond figures at once. */
const save_ms = 1_000;
/** Below this another part of a collection costs more than it gains. */
const partBytesMin = 32 * 2 ** 20;
/** What is to be read anew is looked for this often while anything differs, and so many are taken at once. */
const repair_ms = 1_000;
const takenMax = 500;
const partsPerShareMax = 8;
const samplesPerPart = 16;
/** Of the memory bound of a process, what keys that wait may take. */
const keysPart = 16;

/** Verifies one share from where it is until the destination is opened, and answers the leader's last looks. */
export class VerifiedShare {
  readonly #verifier: ShareVerifier;
  readonly #storage: VerificationStorage;
  #answered: Pick<ShareVerification, 'answered' | 'mismatches'>;
  #saved = '';
  #sealed: { epoch: number | null; expiring: ReadonlySet<string> } | null = null;
  readonly #saving = new InTurn();
  readonly #readiness = new VerificationReadiness();

  /** @param shares of this process, which share its memory */
  constructor(
    private readonly context: MigrationContext,
    private readonly sync: Pick<ShareSync, 'shareId' | 'epoch' | 'figures' | 'readAnew'>,
    before: ShareVerification | null,
    shares: number,
    private readonly hard: AbortSignal,
  ) {
    this.#answered = { answered: before?.answered ?? 0, mismatches: before?.mismatches ?? 0 };
    const wake = async (signal: AbortSignal): Promise<void> => {
      await Promise.all([wakeSource(context, signal), context.runtime.retrying('wake the destination', () => wakeStreams(context.destination, { signal }), signal)]);
    };
    const start = { source: storedTime(before?.settled.source), destination: storedTime(before?.settled.destination) };
    this.#storage = new VerificationStorage(context.metadata, sync.shareId, sync.epoch, hard);
    this.#verifier = new ShareVerifier(verifierContext(context, sync, shares, this.#storage), start, wake);
  }

  get shareId(): string {
    return this.sync.shareId;
  }

  /** The figures as they are now. */
  figures(): VerificationFigures {
    return verificationFigures(this.#verifier, this.#readiness);
  }

  /** Runs until the destination is to be opened; what its users write from then on is theirs. */
  async run(stop: AbortSignal): Promise<void> {
    const { watch } = this.context;
    const opened = new AbortController();
    const signal = AbortSignal.any([stop, opened.signal]);
    const untilOpened = async (each: AbortSignal): Promise<void> => {
      await watch.until(({ record }) => record.phase === 'opening' || record.phase === 'committed', each);
      opened.abort();
    };
    const work = async (each: AbortSignal): Promise<void> => {
      await this.#verifier.open(each);
      await runTogether(each, [(own) => this.#verifier.run(own), (own) => this.#keep(own), (own) => this.#repair(own), (own) => this.#answer(own)]);
    };
    await runTogether(signal, [untilOpened, work]).catch((error: unknown) => {
      if (!opened.signal.aborted || stop.aborted) throw error;
    });
  }

  async #keep(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#save();
      await this.context.runtime.clock.sleep(save_ms, signal);
    }
  }

  /** Has what differs for good, and lies on the own shard, read anew: whichever share has found it, and wherever it lies. */
  async #repair(signal: AbortSignal): Promise<void> {
    const { watch, runtime } = this.context;
    const anyDiffers = (): boolean => [...watch.view.shares.values()].some(({ verification }) => (verification?.differing ?? 0) > 0);
    for (;;) {
      await runtime.clock.sleep(repair_ms, signal);
      if (watch.view.record.phase === 'syncing' && anyDiffers()) await this.#takeGiven(signal);
    }
  }

  async #takeGiven(signal: AbortSignal): Promise<void> {
    const given = await this.#storage.givenToRepair(takenMax);
    for (const copy of new Set(given.map(({ key }) => copyOfKey(String(key))))) {
      const documents = given.filter(({ key }) => copyOfKey(String(key)) === copy);
      if (!(await this.sync.readAnew(copy, documents.map(({ id }) => restoredValue(id as Binary)), signal))) return;
      await this.#storage.taken(documents.map(({ _id }) => String(_id)));
    }
  }

  async #answer(signal: AbortSignal): Promise<void> {
    const { watch } = this.context;
    for (;;) {
      const { record } = await watch.until((view) => (view.record.verification?.number ?? 0) > this.#answered.answered, signal);
      const { verification } = record;
      if (verification === null || verification === undefined) continue;
      const times = { source: timeOf(verification.source), destination: timeOf(verification.destination) };
      const expiring = await this.#expiring(signal);
      const mismatches = await this.#verifier.lastLook({ times, expiring, whole: !verification.restored }, signal);
      const outOfOrder = verification.restored ? [] : await this.#verifier.outOfOrder(times, signal);
      await noteDifferences(this.context, outOfOrder.map((namespace) => ({ kind: 'order', namespace, detail: 'the documents were inserted in another order' })), signal);
      this.#answered = { answered: verification.number, mismatches: mismatches + outOfOrder.length };
      await this.#save();
      this.context.fleet.nudge();
    }
  }

  /** Collections whose documents servers delete by themselves, once for both last looks: what was sealed stays. */
  async #expiring(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const epoch = this.context.watch.view.record.commit?.catalogEpoch ?? null;
    if (this.#sealed === null || this.#sealed.epoch !== epoch) {
      const catalog = await readCommittedCatalog(this.context, signal);
      this.#sealed = { epoch, expiring: new Set(catalog.filter(expires).map(namespaceOf)) };
    }
    return this.#sealed.expiring;
  }

  /** Stores how far the share is, after what is being stored: an earlier answer never comes after a later one. */
  #save(): Promise<void> {
    return this.#saving.run(() => this.#saveNow());
  }

  async #saveNow(): Promise<void> {
    const { settled, plannedUpTo } = this.#verifier;
    if (settled === null) return;
    const stored = { source: nullableTimestamp(settled.source), destination: nullableTimestamp(settled.destination) };
    const verification: ShareVerification = { ...this.#answered, differing: this.#verifier.mismatches, planned: plannedUpTo, settled: stored, figures: this.figures() };
    const text = JSON.stringify(verification);
    if (text === this.#saved) return;
    await this.context.shareRecords.update(this.shareId, this.sync.epoch, { verification }, this.hard);
    this.#saved = text;
  }
}

function verifierContext(context: MigrationContext, sync: Pick<ShareSync, 'shareId' | 'epoch' | 'figures'>, shares: number, storage: VerificationStorage): VerifierContext {
  const { runtime, source, destination, watch } = context;
  const catalog = new VerificationCatalog(context);
  return {
    source,
    destination,
    storage,
    clock: runtime.clock,
    retrying: runtime.retrying,
    share: source.shardIds.indexOf(sync.shareId),
    shares: source.shardIds.length,
    keysBytesMax: Math.floor(runtime.config.memoryBytesMax / keysPart / shares),
    catalog: (signal) => catalog.read(signal),
    copied: (collections, signal) => copied(context, collections, signal),
    appliedTime: () => [...watch.view.shares.values()].reduce<bigint | null>((lowest, { checkpoint }) => lower(lowest, checkpoint?.toBigInt() ?? 0n), null) ?? 0n,
    // A commit time holds the position back: what looks like lag from then on is none.
    isCommitAwaited: () => isCommitAwaited(watch.view),
    isDraining: () => isDraining(watch.view, sync.shareId),
    isApplyBehind: () => watch.view.record.phase === 'syncing' && sync.figures().lag_seconds > steadyLagMax_seconds,
    boundsOf: (collection, signal) => boundsOf(context, collection, signal),
  };
}

function lower(a: bigint | null, b: bigint): bigint {
  return a === null || b < a ? b : a;
}

/** Collections of which all shares that take part in the copy have stored it as done. */
async function copied({ metadata }: MigrationContext, collections: readonly VerifiedCollection[], signal: AbortSignal): Promise<Set<string>> {
  const notDone = { $elemMatch: { state: { $ne: 'done' } } };
  const names = collections.flatMap(({ copy, copiers }) => copiers.map((share) => partitionsName(share, copy)));
  const done = await metadata.findNames('partitions', { _id: { $in: names }, partitions: { $ne: null, $not: notDone } }, signal);
  const found = new Set(done.map(({ share, copy }) => partitionsName(share, copy)));
  return new Set(collections.filter(({ copy, copiers }) => copiers.every((share) => found.has(partitionsName(share, copy)))).map(({ key }) => key));
}

/** `_id`s that part a large collection, in order; sampling is for speed alone. */
async function boundsOf({ runtime, source }: MigrationContext, { database, name, sizeBytes }: VerifiedCollection, signal: AbortSignal): Promise<RawValue[]> {
  const count = Math.min(source.shardIds.length * partsPerShareMax, Math.floor(sizeBytes / partBytesMin));
  if (count < 2) return [];
  const sampled = await runtime.retrying('sample _ids', () => sampleIds(source.router, database, name, count * samplesPerPart, signal), signal).catch((error: unknown) => {
    if (codeOf(error) === null) throw error;
    return [];
  });
  return evenBounds(sampled.filter(isLossless), count);
}

function storedTime(time: Timestamp | null | undefined): bigint | null {
  return time === null || time === undefined ? null : timeOf(time);
}

function nullableTimestamp(time: bigint | null): Timestamp | null {
  return time === null ? null : timestampOf(time);
}
