import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import type { RoutedAccess } from '../../node/command.js';
import { compileMatcher } from '../../query/matcher.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';
import type { ScanPlan, ScanRequest } from './scan-plan.js';

const NOW = { time: LATEST, transaction: null };

/** A plan as `explain` shows it: its stages, the last one outermost. */
export function describePlan(plan: ScanPlan, request: ScanRequest): Doc {
  const scan = scanStage(plan, request);
  if (plan.sorted || request.sort === undefined) return scan;
  return new Map<string, Value>([
    ['stage', 'SORT'],
    ['sortPattern', request.sort],
    ['type', 'simple'],
    ['inputStage', scan],
  ]);
}

function scanStage({ index }: ScanPlan, { filter }: ScanRequest): Doc {
  const filtered: [string, Value][] = filter.size === 0 ? [] : [['filter', filter]];
  if (index === undefined)
    return new Map<string, Value>([['stage', 'COLLSCAN'], ...filtered, ['direction', 'forward']]);
  const { definition, multikey } = index;
  const keys = new Map<string, Value>([
    ['stage', 'IXSCAN'],
    ['keyPattern', definition.spec.get('key') ?? null],
    ['indexName', definition.name],
    ['isMultiKey', multikey],
    ['isUnique', definition.unique],
    ['isSparse', definition.sparse],
    ['isPartial', definition.holds !== undefined],
    ['direction', 'forward'],
  ]);
  return new Map<string, Value>([['stage', 'FETCH'], ...filtered, ['inputStage', keys]]);
}

/** Runs a plan and counts the examined and the returned documents. */
export function countedScan(
  collection: Collection,
  plan: ScanPlan,
  { filter, collation }: ScanRequest,
  variables: ExpressionContext,
  routed: RoutedAccess | undefined,
): { found: number; examined: number } {
  const matches = compileMatcher(filter, collation ?? collection.collation, variables);
  let found = 0;
  let examined = 0;
  for (const record of plan.records(NOW)) {
    const bytes = visibleBytes(record, NOW);
    if (bytes === null) continue;
    examined += 1;
    if (matches(decodeDocument(bytes)) && routed?.owns(collection.namespace, bytes) !== false) found += 1;
  }
  return { found, examined };
}
