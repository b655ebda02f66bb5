import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { cappedWithFilter, parseDocumentFilter } from '../catalog/namespace-filter.js';
import { type Catalog, namespaceOf } from '../catalog/namespace.js';
import { serverErrorCode, codeOf, failureName } from '../cluster/failure.js';
import { matchingAll } from '../cluster/reads.js';
import type { ClusterClient } from '../cluster/node-client.js';

/** Location51091: a regular expression does not compile. */
const REGEX_INVALID = 51_091;

/** Codes with which servers refuse a query. */
const REFUSALS: ReadonlySet<number | null> = new Set([
  serverErrorCode.badValue,
  serverErrorCode.typeMismatch,
  serverErrorCode.failedToParse,
  REGEX_INVALID,
]);

/**
 * Checks that every query of `documentFilter` is about a collection that is migrated, and that the source takes it.
 * @throws ConvoyError `documentFilterInvalid`
 */
export async function checkDocumentFilters(
  source: ClusterClient,
  catalog: Catalog,
  { documentFilter = [] }: Pick<StartRequest, 'documentFilter'>,
  signal: AbortSignal,
): Promise<void> {
  for (const given of documentFilter) {
    const { database, collection } = given;
    const namespace = `${database}.${collection}`;
    const entry = catalog.find((one) => namespaceOf(one) === namespace);
    if (entry?.type !== 'collection')
      throw new ConvoyError(
        'documentFilterInvalid',
        `documentFilter names ${namespace}, which is no collection of this migration. Correct the name.`,
      );
    if (entry.options.capped === true) throw cappedWithFilter(namespace);
    // Matches nothing, but the server parses the whole query.
    const query = matchingAll({ _id: { $in: [] } }, parseDocumentFilter(given));
    try {
      await source.router.command(database, { find: collection, ...query, limit: 1, singleBatch: true }, { signal });
    } catch (error) {
      if (!REFUSALS.has(codeOf(error))) throw error;
      throw new ConvoyError(
        'documentFilterInvalid',
        `The source refuses the documentFilter of ${namespace}: ${failureName(error)}. Try it with find.`,
        { cause: error },
      );
    }
  }
}
