import { type Catalog, namespaceFrom, namespaceOf } from '../../catalog/namespace.js';
import type { NamespaceFilter } from '../../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { type ChosenIndex, withChosenIndexes } from '../../catalog/plan/chosen-indexes.js';
import type { SkippedIndex } from '../../catalog/plan/skipped-index.js';
import type { Namespace } from '../../cluster/node-client.js';
import { type CatalogReport, readCatalogReport } from '../../catalog/read/read-catalog.js';
import { compareDefinitions, type NamespaceDifference } from '../compare/compare-definitions.js';
import { inSameInsertionOrder } from '../compare/compare-capped-order.js';
import { knownTimes, type Side, type Sides } from '../compare/sides.js';
import { type ComparisonDependencies, lookupSides } from './comparison-dependencies.js';
import { readRecordedChoices } from './recorded-choices.js';
import type { ComparisonPlan } from './comparison-plan.js';

/** An object that both sides have, and whose documents were not compared. */
interface NotCompared {
  namespace: string;
  reason: string;
}

/** An index that a migration skipped, or took in another form, as its user chose. */
interface SkippedByChoice {
  namespace: string;
  index: string;
  description: string;
}

/** The result of comparing the definitions at the end. */
export interface DdlOutcome {
  differences: NamespaceDifference[];
  notCompared: NotCompared[];
  /** Indexes that differ by the choices of the migration, which are no differences. */
  skippedIndexes: SkippedByChoice[];
  /** Collections and views on the source. */
  namespaces: number;
}

/** Maximum reads of both catalogs: definitions that keep changing are reported as last found. */
const readingsMax = 5;

/** Which namespaces are compared, and their names on the destination. */
interface ComparedNames {
  filter: NamespaceFilter;
  remap: NamespaceRemap;
}

/** Reads both catalogs. */
export async function readReports(
  deps: ComparisonDependencies,
  { filter, remap }: ComparedNames,
): Promise<Sides<CatalogReport>> {
  const { retrying, signal } = deps;
  const read = (side: Side, included: NamespaceFilter) =>
    retrying(`read the catalog of ${deps[side].name}`, () => readCatalogReport(deps[side], included, signal), signal);
  const there = remap.filterOnDestination(filter);
  const [source, destination] = await Promise.all([read('source', filter), read('destination', there)]);
  return { source, destination };
}

/**
 * Compares the definitions of both sides after the documents. As with documents, a difference counts once it has lasted
 * for the rule's time; temporary effects of a DDL change do not.
 * @throws what the clients throw
 */
export async function finalDefinitions(
  deps: ComparisonDependencies,
  names: ComparedNames,
  plan: ComparisonPlan,
): Promise<DdlOutcome> {
  const { options, clock, signal } = deps;
  const { remap } = names;
  let before: ReadonlySet<string> | null = null;
  for (let reading = 1; ; reading += 1) {
    const reports = await readReports(deps, names);
    const { choices, skipped } = await readRecordedChoices(deps);
    const { report, chosen } = withChosenIndexes(reports.source, choices);
    const rule = { ...deps, shardKeys: options.shardKeys, remap, skipped };
    const differences = [
      ...compareDefinitions(report, reports.destination, rule),
      ...(await orderDifferences(deps, reports.source, plan)),
    ];
    const isOld = before !== null && differences.every((difference) => before?.has(nameOf(difference)));
    if (differences.length === 0 || isOld || reading === readingsMax) {
      return {
        differences,
        notCompared: notCompared(reports, plan, remap),
        skippedIndexes: [...chosen.map(byChoice), ...presentOf(skipped, report.catalog).map(afterFailure)],
        namespaces: reports.source.catalog.length + reports.source.timeSeries.length,
      };
    }
    before = new Set(differences.map(nameOf));
    await clock.sleep(options.rule.settle_ms, signal);
  }
}

function byChoice({ namespace, index, description }: ChosenIndex): SkippedByChoice {
  return { namespace, index, description };
}

/** Of collections that the source still has. */
function presentOf(skipped: readonly SkippedIndex[], catalog: Catalog): SkippedIndex[] {
  const there = new Set(catalog.map(({ uuid }) => uuid));
  return skipped.filter(({ uuid }) => there.has(uuid));
}

function afterFailure({ namespace, index, outcome, failure }: SkippedIndex): SkippedByChoice {
  const what = outcome === 'absent' ? 'the destination cannot build it' : 'not unique on the destination';
  return { namespace, index, description: `${what}: ${failure}` };
}

/** Capped collections whose documents are in another order. */
async function orderDifferences(
  deps: ComparisonDependencies,
  source: CatalogReport,
  plan: ComparisonPlan,
): Promise<NamespaceDifference[]> {
  const capped = new Set(source.catalog.filter(({ options }) => options.capped === true).map(namespaceOf));
  const collections = plan.collections.filter((collection) => capped.has(namespaceOf(collection)));
  if (collections.length === 0) return [];
  const times = await knownTimes(deps, deps.signal);
  const differences: NamespaceDifference[] = [];
  for (const collection of collections) {
    if (!(await inSameInsertionOrder(lookupSides(deps, collection, times), deps.retrying)))
      differences.push({
        kind: 'order',
        namespace: namespaceOf(collection.destination),
        detail: 'the documents were inserted in another order',
      });
  }
  return differences;
}

function nameOf({ kind, namespace, detail }: NamespaceDifference): string {
  return JSON.stringify([kind, namespace, detail]);
}

function notCompared(
  { source, destination }: Sides<CatalogReport>,
  plan: ComparisonPlan,
  remap: NamespaceRemap,
): NotCompared[] {
  const nameThere = (namespace: Namespace): string => namespaceOf(remap.toDestination(namespace));
  const there = new Map(destination.catalog.map((entry) => [namespaceOf(entry), entry]));
  const planned = new Map(plan.collections.map((collection) => [namespaceOf(collection), collection]));
  const missed = source.catalog.filter((entry) => {
    const other = there.get(nameThere(entry));
    if (entry.type !== 'collection' || other?.type !== 'collection') return false;
    const known = planned.get(namespaceOf(entry));
    return known?.sourceUuid !== entry.uuid || known.destinationUuid !== other.uuid;
  });
  const series = source.timeSeries.filter((namespace) =>
    destination.timeSeries.includes(nameThere(namespaceFrom(namespace))),
  );
  return [
    ...missed.map((entry) => ({
      namespace: namespaceOf(entry),
      reason: 'it was created or recreated while the comparison ran; run it again',
    })),
    ...series.map((namespace) => ({
      namespace,
      reason: 'documents of a time series have no order and no _id in common on both sides',
    })),
  ];
}
