import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Queries that choose the documents of a collection. */
export const filterHazards: readonly Hazard[] = [
  {
    number: 105,
    hazard: 'An update moves a document into or out of a document filter, and its replay leaves a wrong copy',
    handling:
      'Every change but a delete is a re-read by the query at one time: the document is written if it matches, and ' +
      'deleted otherwise. Copy and verifier read the source by the same query.',
    sabotages: [
      {
        takesOut: 'the re-read of changed documents',
        file: instance('apply/action.ts'),
        symbol: 'actionOf',
        find: "collection.documentFilter !== undefined && event.operation !== 'delete'",
        replace: "collection.documentFilter !== undefined && event.operation === 'delete'",
        tests: [
          instanceTest('apply/action.test.ts', 'is a re-read where a query chooses the documents, except for deletes'),
          integrationTest(
            'contract/document-filters.test.ts',
            'documents that move into or out of the filter join or leave the destination',
          ),
        ],
      },
      {
        takesOut: 'the query of a re-read',
        file: instance('reread/reread-batch.ts'),
        symbol: 'readSource',
        find: '...matchingAll(collection.documentFilter), readConcern };\n  return readByIds(shard',
        replace: 'readConcern };\n  return readByIds(shard',
        tests: [
          integrationTest(
            'contract/document-filters.test.ts',
            'documents that move into or out of the filter join or leave the destination',
          ),
        ],
      },
      {
        takesOut: "the query of the verifier's lookups",
        file: instance('verify/compare/find-documents.ts'),
        symbol: 'lookupsOn',
        find: "filter: side === 'source' ? filter : undefined",
        replace: 'filter',
        tests: [
          integrationTest(
            'contract/document-filters.test.ts',
            'a document that is outside the filter on the destination is found by the verifier',
          ),
        ],
      },
    ],
  },
  {
    number: 167,
    hazard:
      'Somebody creates a view of a collection that the filter excludes while a migration runs: on the destination ' +
      'it is empty, and nothing says so',
    handling: 'Whenever the leader reads the catalog of the source, it names such views in a warning.',
    sabotages: [
      {
        takesOut: 'the warning',
        file: instance('lifecycle/leader/followed-source.ts'),
        symbol: 'read',
        find: 'await this.#warn(blindViewsWarning, this.#blindViews(report), signal);',
        replace: '',
        tests: [
          integrationTest(
            'kinds/time-series-before-6.test.ts',
            'a view that somebody creates on an excluded time series is named, until it is dropped',
          ),
        ],
      },
    ],
  },
];
