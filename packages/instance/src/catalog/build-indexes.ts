import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { classify, codeOf, failureName, isRefusedByDocument, serverErrorCode } from '../cluster/failure.js';
import type { CallOptions, NodeClient } from '../cluster/node-client.js';
import { shownName, userName } from '../cluster/time-series.js';
import type { CollectionPlan } from './destination-plan.js';
import { betweenBuilds, BuildsUnderWay, untilBuilt, watchedBuild } from './index-builds.js';
import { neededIndex, type SkippedIndex, skippedIndexOf } from './index-plan.js';
import { buildSpecification, TTL_OFF_SECONDS } from './index-spec.js';
import { withoutFields, canonicalText, sameDocument } from './namespace.js';
import { presentIndexes, type PresentIndexes } from './read-indexes.js';

/** The cluster on which indexes are built, and the caller's limits. */
export interface IndexBuilding {
  client: NodeClient;
  signal: AbortSignal;
  /** Called before every change: throws if another leader has taken over, so that this one changes nothing more. */
  confirm: () => Promise<void>;
  /** Command fields that identify the collection by its UUID, on servers that support it. */
  meaning?: Document;
  /** Skips an index that the destination cannot build and no shard key needs; absent: every index must be built. */
  skip?: SkipIndex | undefined;
  /** Shows the builds that are waited for. */
  builds?: BuildsUnderWay | undefined;
  /** Absent while no document of the destination is outdated. */
  mayPass?: MayPass | undefined;
}

/** Records that an index is skipped. @throws what ends the migration instead */
export type SkipIndex = (skipped: SkippedIndex, signal: AbortSignal) => Promise<void>;

/** Whether a document that has just refused an index may be outdated, so that a later build may succeed. */
export type MayPass = (plan: CollectionPlan, index: Document) => boolean;

const MILLISECONDS_PER_SECOND = 1_000;

/**
 * Builds the missing indexes of one collection in one command, in the form that they have until the commit
 * (`IndexPlan`). Existing ones keep everything but their TTL. Then it sets every temporary TTL to `TTL_OFF_SECONDS`,
 * which only `collMod` accepts.
 * @param wanted temporary forms of `plan.indexes`, and final ones of those that are only built at the commit
 * @returns how many indexes were missing, skipped ones included
 * @throws ConvoyError `indexNotSupported` if the server cannot build an index, `catalogDiffers` if another index has
 * its name; at the end, the server's error if a later build may succeed
 */
export async function buildMissing(
  building: IndexBuilding,
  plan: CollectionPlan,
  wanted: readonly Document[],
): Promise<number> {
  if (wanted.length === 0) return 0;
  const namespace = shownName(plan.entry);
  const present = await settledIndexes(building, plan, wanted);
  const missing = wanted.filter((index) => !isPresent(namespace, index, present));
  const refusals = missing.length > 0 ? await createIndexes(building, plan, missing) : [];
  for (const index of wanted) {
    if (refusals.some((one) => one.index === index)) continue;
    // `present` lacks the new indexes, whose TTL is not off yet.
    const isOff = present.every(index.name as string, (found) => found.expireAfterSeconds === TTL_OFF_SECONDS);
    if (index.expireAfterSeconds !== TTL_OFF_SECONDS || isOff) continue;
    await changeIndex(building, plan, { name: index.name as string, expireAfterSeconds: TTL_OFF_SECONDS });
  }
  const passing = refusals.find((one) => one.mayPass);
  if (passing !== undefined) throw passing.failure;
  return missing.length;
}

/**
 * The indexes of a collection once it builds none of the wanted ones any more: a former leader, or a call whose
 * connection was cut, may have begun them. Those that have failed meanwhile are missing.
 * @throws ConvoyError `catalogDiffers` if another index of such a name is being built
 */
async function settledIndexes(
  building: IndexBuilding,
  plan: CollectionPlan,
  wanted: readonly Document[],
): Promise<PresentIndexes> {
  const namespace = shownName(plan.entry);
  let present = await presentIndexes(building, plan);
  const unfinished = (): string[] =>
    wanted.flatMap((index) => {
      const name = index.name as string;
      if (present.isBuilding(name, (found) => !isBuiltAs(found, index))) throw differentIndex(namespace, name);
      return present.isBuilding(name) ? [name] : [];
    });
  if (unfinished().length === 0) return present;
  await untilBuilt(building, plan.entry, async () => {
    present = await presentIndexes(building, plan);
    return unfinished();
  });
  return present;
}

/** Runs `collMod` on one index. */
export function changeIndex(building: IndexBuilding, plan: CollectionPlan, index: Document): Promise<void> {
  return changeCollection(building, plan, { index });
}

/** Runs `collMod`. */
export async function changeCollection(
  building: IndexBuilding,
  { entry }: CollectionPlan,
  change: Document,
): Promise<void> {
  const { client, signal, confirm, meaning } = building;
  const command = { collMod: userName(entry.name), ...change, ...meaning, writeConcern: { w: 'majority' } };
  await betweenBuilds(building, entry, async () => {
    await confirm();
    await client.command(entry.database, command, { signal });
  });
}

/**
 * Runs `createIndexes` so that `listIndexes` then shows exactly these indexes, except for a TTL that is off. Throws the
 * server's error.
 * @param now_seconds current time since 1970, from which the value of a disabled TTL derives. A repetition passes the
 * same: another value would conflict with an index that the first attempt has built.
 */
export async function sendCreateIndexes(
  building: IndexBuilding,
  plan: CollectionPlan,
  indexes: readonly Document[],
  now_seconds = Date.now() / MILLISECONDS_PER_SECOND,
): Promise<void> {
  const { client, signal, confirm, meaning, builds = new BuildsUnderWay() } = building;
  const commands = createCommands(plan, indexes, now_seconds).map((command) => ({
    ...command,
    ...meaning,
    writeConcern: { w: 'majority' },
  }));
  const { database, name } = plan.entry;
  const names = indexes.map((index) => index.name as string);
  const isBuilding = async (each: AbortSignal): Promise<boolean> => {
    const present = await presentIndexes({ ...building, signal: each }, plan);
    return names.some((one) => present.isBuilding(one));
  };
  const send = async (quorum: Document): Promise<void> => {
    await confirm();
    for (const command of commands) {
      const sent = (options: CallOptions) => client.command(database, { ...command, ...quorum }, options);
      await watchedBuild(builds, shownName(plan.entry), signal, sent, isBuilding);
    }
  };
  await builds.during({ cluster: 'destination', database, name, indexes: names }, async () => {
    try {
      await send(majorityQuorum);
    } catch (failure) {
      if (!QUORUM_CODES.has(codeOf(failure))) throw failure;
      // A set whose parameters or members do not allow this quorum: its own default counts.
      await send({});
    }
  });
}

/**
 * The commands that create some indexes. Those of buckets are created as they are, but where a server keeps what the
 * user has written (filters, for example, which it rewrites for buckets), in these words under the user's name.
 */
function createCommands({ entry, options }: CollectionPlan, indexes: readonly Document[], now_seconds: number) {
  const isWritten = (index: Document): boolean => index.originalSpec !== undefined;
  const raw = indexes.filter((index) => !isWritten(index));
  const written = indexes.filter(isWritten);
  return [
    {
      createIndexes: entry.name,
      indexes: raw.map((index) => buildSpecification(index, options.collation, now_seconds)),
    },
    { createIndexes: userName(entry.name), indexes: written.map((index) => writtenIndex(index, options.collation)) },
  ].filter((command) => command.indexes.length > 0);
}

/** What the user wrote, by attribute; the index says itself what it is compared by, and whether it is hidden. */
function writtenOf({ originalSpec }: Document): Document {
  return withoutFields(Object.fromEntries(originalSpec as Map<string, unknown>), 'v', 'hidden', 'collation');
}

/**
 * What the user wrote, but visible or hidden as the index is to be now. Servers keep the collection's collation with
 * it, and refuse any beside a filter (8.0.10: 85); without it, an index has the simple one, and must say so.
 */
function writtenIndex({ originalSpec, hidden, collation }: Document, ofCollection: unknown): Document {
  const written = new Map(originalSpec as Map<string, unknown>);
  written.delete('hidden');
  written.delete('collation');
  if (!sameDocument({ collation: collation as unknown }, { collation: ofCollection }))
    written.set('collation', collation ?? { locale: 'simple' });
  return hidden === true ? written.set('hidden', true) : written;
}

/**
 * A build ends once a majority has it, as a write does. By default it waits for all voting members: one that is away
 * would hold it for as long as it is. Servers and routers take the field from 4.4 on.
 */
const majorityQuorum = { commitQuorum: 'majority' };

/** Codes by which a server may refuse a quorum; the first one has other reasons too, which the second attempt shows. */
const QUORUM_CODES: ReadonlySet<number | null> = new Set([
  serverErrorCode.badValue,
  serverErrorCode.unsatisfiableCommitQuorum,
]);

/** An index that the destination refuses to build. */
interface Refusal {
  index: Document;
  failure: unknown;
  /** Whether a later build may succeed. */
  mayPass: boolean;
}

/**
 * Creates indexes, and skips those that the destination cannot build, if the caller allows that.
 * @returns the refused ones: they are skipped, or a later build may succeed
 * @throws ConvoyError `indexNotSupported` for indexes that may not be skipped
 */
async function createIndexes(
  building: IndexBuilding,
  plan: CollectionPlan,
  missing: readonly Document[],
): Promise<Refusal[]> {
  const now_seconds = Date.now() / MILLISECONDS_PER_SECOND;
  if ((await failureOf(building, plan, missing, now_seconds)) === null) return [];
  // The server's error names no index, and the command may have built some: each is tried alone.
  const refusals: Refusal[] = [];
  for (const index of missing) {
    const failure = await failureOf(building, plan, [index], now_seconds);
    if (failure === null) continue;
    const mayPass = isRefusedByDocument(failure) && building.mayPass?.(plan, index) === true;
    refusals.push({ index, failure, mayPass });
  }
  const needed = neededIndex(plan, plan.sharding)?.temporary;
  const { skip, signal } = building;
  const required = refusals.filter(({ index, mayPass }) => !mayPass && (skip === undefined || index === needed));
  if (required.length > 0) throw refusalOf(plan, required);
  for (const { index, failure, mayPass } of refusals) {
    // One shard may have built it while another one refused: no shard keeps it, for it may not be wanted later.
    if (index !== needed) await dropIndex(building, plan.entry, index.name as string);
    if (!mayPass) await skip?.(skippedIndex(plan, index, failure), signal);
  }
  return refusals;
}

/** Why a server refuses to build indexes; null if it has built them. Throws what a later attempt may resolve. */
async function failureOf(
  building: IndexBuilding,
  plan: CollectionPlan,
  indexes: readonly Document[],
  now_seconds: number,
): Promise<unknown> {
  try {
    await sendCreateIndexes(building, plan, indexes, now_seconds);
    return null;
  } catch (failure) {
    if (!isRefusal(failure)) throw failure;
    if (!CODES_OF_PRESENT_INDEXES.has(codeOf(failure))) return failure;
    // An earlier attempt has built the index, maybe only on some shards: no refusal if all have the wanted one now.
    const present = await presentIndexes(building, plan);
    return indexes.every((index) => isPresent(shownName(plan.entry), index, present)) ? null : failure;
  }
}

function refusalOf(plan: CollectionPlan, refused: readonly Pick<Refusal, 'index' | 'failure'>[]): ConvoyError {
  const named = refused.map(({ index, failure }) => `${String(index.name)} (${failureName(failure)})`).join(', ');
  const cause = refused[0]?.failure;
  return new ConvoyError('indexNotSupported', `The destination cannot build ${named} of ${shownName(plan.entry)}.`, {
    cause,
  });
}

function skippedIndex(plan: CollectionPlan, temporary: Document, failure: unknown): SkippedIndex {
  const final = plan.indexes.find((index) => index.temporary === temporary)?.final ?? temporary;
  const collection = { uuid: plan.entry.uuid, namespace: shownName(plan.sourceNamespace) };
  return skippedIndexOf(collection, final, 'absent', failure);
}

/**
 * Whether the server cannot build the index at all: it rejects the specification, or a document that the index would
 * hold. The codes for that are many, so all others are named instead. A failure that a later attempt may resolve is no
 * refusal.
 */
function isRefusal(failure: unknown): boolean {
  const code = codeOf(failure);
  if (code === null || CODES_OF_OTHER_CAUSES.has(code)) return false;
  return ['fatal', 'duplicateKey'].includes(classify(failure));
}

/** Fatal codes whose cause is the collection or the moment, not the index. */
const CODES_OF_OTHER_CAUSES: ReadonlySet<number> = new Set([
  serverErrorCode.namespaceExists,
  serverErrorCode.commandNotSupportedOnView,
]);

/**
 * Codes for an index that exists; the second one if its TTL has other seconds, for example because it is off, the third
 * one if it differs in what makes it another index, such as uniqueness.
 */
export const CODES_OF_PRESENT_INDEXES: ReadonlySet<number | null> = new Set([
  serverErrorCode.indexAlreadyExists,
  serverErrorCode.indexOptionsConflict,
  serverErrorCode.indexKeySpecsConflict,
]);

/**
 * Whether every shard has an index.
 * @throws ConvoyError `catalogDiffers` if another index has the name
 */
function isPresent(namespace: string, wanted: Document, present: PresentIndexes): boolean {
  const name = wanted.name as string;
  if (!present.some(name, (found) => !isBuiltAs(found, wanted))) return present.every(name);
  throw differentIndex(namespace, name);
}

function differentIndex(namespace: string, name: string): ConvoyError {
  return new ConvoyError('catalogDiffers', `The destination has a different index named ${name} on ${namespace}.`);
}

/**
 * Whether two indexes in portable form are the same but for the seconds of a TTL, which `collMod` sets later. Of a time
 * series, what its user wrote (`originalSpec`) is the definition: releases may put it in other words for the buckets.
 */
export function isBuiltAs(a: Document, b: Document): boolean {
  if (a.originalSpec !== undefined && b.originalSpec !== undefined)
    return (
      isBuiltAs(writtenOf(a), writtenOf(b)) &&
      (a.hidden === true) === (b.hidden === true) &&
      sameDocument({ collation: a.collation as unknown }, { collation: b.collation as unknown })
    );
  const rest = (index: Document): string => canonicalText(withoutFields(index, 'expireAfterSeconds', 'originalSpec'));
  return (a.expireAfterSeconds === undefined) === (b.expireAfterSeconds === undefined) && rest(a) === rest(b);
}

/**
 * Drops an index of the destination; a missing index is no error. One that is being built alone is no more. Others
 * that are being built are waited for.
 * @throws what `confirm` or the client throws
 */
export async function dropIndex(
  building: IndexBuilding,
  collection: { database: string; name: string },
  name: string,
): Promise<void> {
  const { client, signal, confirm, meaning } = building;
  const command = { dropIndexes: userName(collection.name), index: name, ...meaning, writeConcern: { w: 'majority' } };
  try {
    await betweenBuilds(building, collection, async () => {
      await confirm();
      await client.command(collection.database, command, { signal });
    });
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.indexNotFound) throw failure;
  }
}
