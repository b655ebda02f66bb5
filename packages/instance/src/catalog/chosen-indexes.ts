import type { StartRequest } from '@convoy/api/contract/start-request';
import type { Document } from 'mongodb';
import { isIdKey, supportingIndex } from './index-plan.js';
import { indexObstacle, isIdIndex, portableIndex } from './index-spec.js';
import { nameSome } from './name-some.js';
import { shownName } from '../cluster/time-series.js';
import { type CatalogEntry, type InconsistentIndex, namespaceOf } from './namespace.js';
import type { CatalogReport } from './read-catalog.js';

/** The user's choices about indexes that the destination cannot have as the source has them. */
export type IndexChoices = Pick<StartRequest, 'indexConflicts' | 'indexFailures'>;

/** An index of the source for which a choice of the user counts. */
export interface ChosenIndex {
  namespace: string;
  index: string;
  /** The form that counts; null: the index is skipped. */
  chosen: Document | null;
  /** Why, and what was chosen: `differs on shard1, taken as most shards have it`. */
  description: string;
  /** The reason why no choice is possible when a migration starts; null if the choice holds. */
  refusal: string | null;
}

/**
 * The source's catalog with the indexes that count by the user's choices. It depends on what the shards have now alone:
 * once they agree again, everybody has the index again. Without choices it is the catalog as read.
 */
export function withChosenIndexes<T extends Pick<CatalogReport, 'catalog' | 'inconsistentIndexes'>>(
  report: T,
  choices: IndexChoices,
): { report: T; chosen: ChosenIndex[] } {
  const chosen: ChosenIndex[] = [];
  const catalog = report.catalog.map((entry) => {
    const own = [...chosenConflicts(entry, report.inconsistentIndexes, choices), ...skippedObstacles(entry, choices)];
    if (own.length === 0) return entry;
    chosen.push(...own);
    return { ...entry, indexes: indexesWith(entry, own) };
  });
  const isOpen = choices.indexConflicts === undefined || choices.indexConflicts === 'refuse';
  return { report: { ...report, catalog, inconsistentIndexes: isOpen ? report.inconsistentIndexes : [] }, chosen };
}

function indexesWith(entry: CatalogEntry, chosen: readonly Pick<ChosenIndex, 'index' | 'chosen'>[]): Document[] {
  const names = new Set(chosen.map(({ index }) => index));
  return [
    ...entry.indexes.filter(({ name }) => !names.has(name as string)),
    ...chosen.flatMap((one) => (one.chosen === null ? [] : [one.chosen])),
  ];
}

function chosenConflicts(
  entry: CatalogEntry,
  conflicts: readonly InconsistentIndex[],
  { indexConflicts = 'refuse' }: IndexChoices,
): ChosenIndex[] {
  if (indexConflicts === 'refuse') return [];
  const chosen = conflicts
    .filter(({ namespace }) => namespace === shownName(entry))
    .map((conflict) => ({
      conflict,
      index: conflict.index,
      chosen: indexConflicts === 'majority' ? majorityOf(conflict) : null,
    }));
  const isKeyServed = servesKey(entry, indexesWith(entry, chosen));
  return chosen.map(({ conflict, index, chosen: form }) => {
    const tie = indexConflicts === 'majority' && isTie(conflict);
    return {
      namespace: conflict.namespace,
      index,
      chosen: form,
      description: `differs on ${conflict.shards.join(', ')}, ${describe(form, indexConflicts, tie)}`,
      refusal: refusalOf(entry, conflict, form, { tie, isKeyServed }),
    };
  });
}

function describe(form: Document | null, choice: 'majority' | 'skip', tie: boolean): string {
  if (choice === 'skip' || tie) return 'skipped';
  return form === null ? 'skipped as most shards lack it' : 'taken as most shards have it';
}

/** A tie has no majority. */
function isTie({ forms: [first, second] }: InconsistentIndex): boolean {
  return first !== undefined && first.shards === second?.shards;
}

function majorityOf(conflict: InconsistentIndex): Document | null {
  return isTie(conflict) ? null : (conflict.forms[0]?.index ?? null);
}

function refusalOf(
  entry: CatalogEntry,
  { forms }: InconsistentIndex,
  form: Document | null,
  { tie, isKeyServed }: { tie: boolean; isKeyServed: boolean },
): string | null {
  if (tie) return 'no form has a majority';
  const some = forms.flatMap(({ index }) => (index === null ? [] : [index]));
  const expires = (index: Document): boolean => index.expireAfterSeconds !== undefined;
  // Some shards would go on deleting documents that the destination keeps.
  if (some.some(expires) && (form === null || !expires(form))) return 'it expires documents';
  return form === null && !isKeyServed && servesKey(entry, some) ? 'the shard key needs it' : null;
}

/** Whether one of the indexes supports the shard key; true without one that needs it. */
function servesKey({ sharding, ...entry }: CatalogEntry, indexes: readonly Document[]): boolean {
  if (sharding === null || isIdKey(sharding.key)) return true;
  const portable = indexes
    .filter((index) => !isIdIndex(index))
    .map((index) => portableIndex(namespaceOf(entry), index).index);
  return supportingIndex(portable, sharding.key, sharding.unique) !== undefined;
}

/** Indexes of a type or form that no destination can have. */
function skippedObstacles(entry: CatalogEntry, { indexFailures }: IndexChoices): ChosenIndex[] {
  if (indexFailures !== 'skip') return [];
  return entry.indexes.flatMap((index): ChosenIndex[] => {
    const obstacle = isIdIndex(index) ? null : indexObstacle(index);
    if (obstacle === null) return [];
    const description = `skipped: ${obstacle}`;
    return [{ namespace: shownName(entry), index: String(index.name), chosen: null, description, refusal: null }];
  });
}

/** The name of the warning about indexes for which a choice counts. */
export const chosenWarning = 'indexesChosen';

/** The warning's text; null if no choice counts. */
export function describeChosen(chosen: readonly ChosenIndex[]): string | null {
  if (chosen.length === 0) return null;
  const named = chosen.map(({ namespace, index, description }) => `${index} of ${namespace} (${description})`);
  return `The destination does not get every index as the source has it: ${nameSome(named)}.`;
}
