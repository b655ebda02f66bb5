import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { shownName } from '../cluster/time-series.js';
import { mapBounded } from '../async/together.js';
import { storedEntry } from '../catalog/catalog-bytes.js';
import {
  type ChosenIndex,
  chosenWarning,
  describeChosen,
  type IndexChoices,
  withChosenIndexes,
} from '../catalog/chosen-indexes.js';
import { nameSome } from '../catalog/name-some.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import { type Catalog, type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import type { CatalogReport } from '../catalog/read-catalog.js';
import { refuseUnsupported } from '../catalog/unsupported-collections.js';
import { collationClash, isDefinitionRefusal } from '../catalog/views.js';
import { codeOf, failureName } from '../cluster/failure.js';
import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { type Advice, unchecked, warning } from './examination.js';

/** The part of a document's 16 MB that chunks may use; the rest is for the entry's other fields. */
const ENTRY_BYTES_MAX = 15 * 2 ** 20;
/** This many chunks always fit, whatever their bounds are. */
const CHUNKS_UNMEASURED_MAX = 1_000;

/**
 * Checks whether everything included can be migrated.
 * @param report as read
 * @returns the same with the indexes that count, and those for which a choice of the user does
 * @throws ConvoyError `inconsistentIndexes`, `indexNotSupported` or `collectionNotSupported`, naming the first few
 * namespaces
 */
export function checkSourceCatalog(
  read: CatalogReport,
  choices: IndexChoices = {},
): ReturnType<typeof withChosenIndexes<CatalogReport>> {
  const result = withChosenIndexes(read, choices);
  const { report, chosen } = result;
  refuseUnsupported(report);
  if (report.inconsistentIndexes.length > 0) {
    const named = report.inconsistentIndexes.map(
      ({ namespace, index, shards }) => `${index} of ${namespace} (differs on ${shards.join(', ')})`,
    );
    throw new ConvoyError(
      'inconsistentIndexes',
      `Indexes differ between shards of the source: ${nameSome(named)}. Make them equal first, or set indexConflicts.`,
    );
  }
  refuseChoices(chosen);
  checkStorable(report);
  return result;
}

/** The finding about collections that can be migrated. */
export function describeCollections(chosen: readonly ChosenIndex[]): Advice {
  const description = describeChosen(chosen);
  if (description === null) return 'Every collection, view and index can be migrated.';
  return warning(chosenWarning, description);
}

/** Some indexes cannot be left out, and without a majority nothing is taken. */
function refuseChoices(chosen: readonly ChosenIndex[]): void {
  const refused = chosen.flatMap(({ namespace, index, description, refusal }) =>
    refusal === null ? [] : [`${index} of ${namespace} (${description}, but ${refusal})`],
  );
  if (refused.length === 0) return;
  throw new ConvoyError(
    'inconsistentIndexes',
    `indexConflicts cannot decide about these indexes: ${nameSome(refused)}. Make them equal first.`,
  );
}

/** The catalog entry of a collection, including its chunks, is one document of the metadata database. */
function checkStorable(report: CatalogReport): void {
  const affected = report.catalog.filter(
    (entry) =>
      (entry.sharding?.chunks.length ?? 0) > CHUNKS_UNMEASURED_MAX && storedEntry(entry).length() > ENTRY_BYTES_MAX,
  );
  if (affected.length === 0) return;
  const named = affected.map((entry) => `${shownName(entry)} (${entry.sharding?.chunks.length ?? 0} chunks)`);
  throw new ConvoyError(
    'collectionNotSupported',
    `These collections have too many chunks for one metadata document: ${nameSome(named)}. Merge chunks with ` +
      'mergeChunks or mergeAllChunksOnShard, or exclude the collections.',
  );
}

/** Views asked for at the same time: a batch size of 0 reads no document. */
const viewsParallel = 4;

/** Stages that write, which no view may have. */
const writingStages = ['$out', '$merge'];

/**
 * Checks whether servers of today take the stored views: a server that was upgraded keeps those that it would refuse.
 * The source resolves each (cycles, depth); the destination parses its pipeline.
 * @throws ConvoyError `viewNotSupported`, naming the first few with the servers' reasons
 */
export async function checkViews(
  source: Pick<ClusterClient, 'router'>,
  destination: Pick<ClusterClient, 'router'>,
  catalog: Catalog,
  remap: NamespaceRemap,
  signal: AbortSignal,
): Promise<void> {
  const views = catalog.filter(({ type }) => type === 'view');
  const refusals = await mapBounded(views, viewsParallel, async (view) => {
    const reason =
      writingStage(view) ??
      collationClash(view, catalog) ??
      (await refusalOf(source.router, view.database, { aggregate: view.name, pipeline: [] }, signal)) ??
      (await refusalOf(destination.router, remap.onDestination(view).database, definitionOf(view), signal));
    return reason === null ? [] : [`${namespaceOf(view)} (${reason})`];
  });
  const refused = refusals.flat();
  if (refused.length === 0) return;
  throw new ConvoyError(
    'viewNotSupported',
    `Servers of today refuse these views of the source: ${nameSome(refused)}. Correct or drop them, or exclude them.`,
  );
}

function definitionOf({ options }: CatalogEntry): Document {
  return { aggregate: options.viewOn as unknown, pipeline: (options.pipeline as unknown) ?? [] };
}

function writingStage({ options }: CatalogEntry): string | null {
  const stages = Array.isArray(options.pipeline) ? (options.pipeline as unknown[]) : [];
  const found = writingStages.find((name) => stages.some((stage) => stage instanceof Map && stage.has(name)));
  return found === undefined ? null : `a view cannot have ${found}`;
}

async function refusalOf(
  client: NodeClient,
  database: string,
  command: Document,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const cursor = await client.openCursor(database, { ...command, cursor: { batchSize: 0 } }, { signal });
    await cursor.close();
    return null;
  } catch (error) {
    if (codeOf(error) === null) throw error;
    // Any other failure, such as a missing privilege, says nothing about the definition.
    return isDefinitionRefusal(error) ? failureName(error) : null;
  }
}

/**
 * A server keeps `_id`s unique on each shard only, unless the shard key is made of `_id`. Only a full read finds
 * duplicates.
 */
export function adviseEqualIds(catalog: Catalog, destination: Pick<ClusterClient, 'kind'>): Advice {
  const open = catalog.filter(({ sharding }) => sharding !== null && [...sharding.key.keys()].join() !== '_id');
  if (open.length === 0) return 'Every sharded collection keeps its _ids unique over all shards.';
  return unchecked(
    `Not checked: the servers keep _ids unique on each shard only for ${nameSome(open.map(namespaceOf))}. ` +
      (destination.kind === 'replicaSet'
        ? 'A replica set cannot hold duplicates: the first one that is found ends the migration.'
        : 'The copy finds duplicates, and fails only if one destination shard would have to hold both.'),
  );
}
