import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { mapBounded } from '../async/together.js';
import { nameSome } from '../catalog/name-some.js';
import { type Catalog, type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import { isViewRefusal } from '../catalog/views.js';
import { codeOf, failureName } from '../cluster/failure.js';
import type { ClusterClient, NodeClient } from '../cluster/node-client.js';

/** Views asked for at the same time: a batch size of 0 reads no document. */
const viewsParallel = 4;

/** Stages that write, which no view may have. */
const writingStages = ['$out', '$merge'];

/**
 * Checks whether servers of today take the stored views: a server that was upgraded keeps those that it would refuse.
 * The source resolves each (cycles, depth, collations); the destination parses its pipeline.
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
    return isViewRefusal(error) ? failureName(error) : null;
  }
}
