import type { CarriedKind } from '@convoy/api/contract/carry';
import type { SourceReply } from '@convoy/api/contract/start-guide';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import type { writeBlockingValues } from '@convoy/api/contract/write-blocking';

export type BuildIndexes = NonNullable<StartRequestBody['buildIndexes']>;

export type IndexConflicts = NonNullable<StartRequestBody['indexConflicts']>;
export type IndexFailures = NonNullable<StartRequestBody['indexFailures']>;

/** On which clusters users may not write; the browser loads no other package, so that the type keeps it equal. */
export type WriteBlocking = (typeof writeBlockingValues)[number];

/** What a user chose for a start. */
export interface StartChoices {
  readonly isFiltered: boolean;
  /** Databases as a whole. */
  readonly databases: ReadonlySet<string>;
  /** Single collections by database. */
  readonly collections: ReadonlyMap<string, ReadonlySet<string>>;
  readonly buildIndexes: BuildIndexes;
  readonly indexConflicts: IndexConflicts;
  readonly indexFailures: IndexFailures;
  readonly verifies: boolean;
  readonly writeBlocking: WriteBlocking;
  readonly isReversible: boolean;
  /** What the commit takes along besides data. */
  readonly carried: readonly CarriedKind[];
  /** Shard keys by namespace, as text: `customerId, _id: hashed`. */
  readonly shardKeys: ReadonlyMap<string, string>;
  readonly createsSupportingIndexes: boolean;
}

/** A switch: whether it is on, and why it cannot be changed. */
export interface SwitchView {
  readonly isOn: boolean;
  readonly reason: string | null;
}

export interface StartView {
  /** What is built, and why something else was chosen in vain. */
  readonly indexes: { readonly buildIndexes: BuildIndexes; readonly reason: string | null };
  /** The choices about single indexes, and why something else was chosen in vain. */
  readonly indexConflicts: { readonly choice: IndexConflicts; readonly reason: string | null };
  readonly indexFailures: { readonly choice: IndexFailures; readonly reason: string | null };
  readonly verification: SwitchView;
  /** What is blocked, and why something else was chosen in vain. */
  readonly writeBlocking: { readonly clusters: WriteBlocking; readonly reason: string | null };
  readonly reversible: SwitchView;
  /** Whether shard keys are needed: from a replica set to a sharded cluster. */
  readonly needsShardKeys: boolean;
  /** Why the choices are no migration; null when they are one. An empty filter would migrate everything. */
  readonly refusal: string | null;
  readonly body: StartRequestBody;
}

type Clusters = SourceReply['clusters'];

const ofAllIndexes: ReadonlySet<BuildIndexes> = new Set(['beforeDataCopy', 'afterDataCopy']);

/** The switches as the contract's rules allow them, and the body of a start. */
export function startView(choices: StartChoices, clusters: Clusters): StartView {
  const noReverse = reverseRefusal(clusters);
  const isReversible = choices.isReversible && noReverse === null;
  const needsShardKeys = clusters?.source.kind === 'replicaSet' && clusters.destination.kind === 'sharded';
  const view: Omit<StartView, 'body'> = {
    indexes:
      isReversible && !ofAllIndexes.has(choices.buildIndexes)
        ? { buildIndexes: 'beforeDataCopy', reason: 'A reversible migration builds all indexes.' }
        : { buildIndexes: choices.buildIndexes, reason: null },
    indexConflicts: choiceOf(choices.indexConflicts, isReversible),
    indexFailures: choiceOf(choices.indexFailures, isReversible),
    verification: { isOn: choices.verifies, reason: null },
    writeBlocking: writeBlockingOf(choices.writeBlocking, isReversible, clusters),
    reversible: { isOn: isReversible, reason: noReverse },
    needsShardKeys,
    refusal:
      choices.isFiltered && selectorsOf(choices).length === 0 ? 'Pick at least one database or collection.' : null,
  };
  return { ...view, body: bodyOf(choices, view, clusters) };
}

/** A reverse needs equal indexes on both clusters. */
function choiceOf<T>(chosen: T | 'refuse', isReversible: boolean): { choice: T | 'refuse'; reason: string | null } {
  if (!isReversible || chosen === 'refuse') return { choice: chosen, reason: null };
  return { choice: 'refuse', reason: 'A reversible migration needs equal indexes on both clusters.' };
}

/** What the clusters cannot do is left out, with the reason. */
function writeBlockingOf(chosen: WriteBlocking, isReversible: boolean, clusters: Clusters): StartView['writeBlocking'] {
  if (isReversible)
    return {
      clusters: 'sourceAndDestination',
      reason: chosen === 'sourceAndDestination' ? null : 'A reversible migration blocks writes on both clusters.',
    };
  if (chosen === 'sourceAndDestination' && clusters?.source.blocksWrites === false)
    return { clusters: 'none', reason: 'Needs a source from MongoDB 6.0.' };
  if (chosen === 'destinationOnly' && clusters?.destination.blocksWrites === false)
    return { clusters: 'none', reason: 'Needs a destination from MongoDB 6.0.' };
  return { clusters: chosen, reason: null };
}

/** As mongosync's switch where it has one. */
function blockingBody({ clusters }: StartView['writeBlocking']): Pick<StartRequestBody, 'enableUserWriteBlocking'> {
  if (clusters === 'none') return {};
  return { enableUserWriteBlocking: clusters === 'sourceAndDestination' ? true : clusters };
}

function reverseRefusal(clusters: Clusters): string | null {
  if (clusters === null) return null;
  const { source, destination } = clusters;
  if (source.kind !== destination.kind) return 'Not possible from a replica set to a sharded cluster.';
  if (source.shards !== destination.shards)
    return `Needs equal numbers of shards; these have ${source.shards} and ${destination.shards}.`;
  return source.blocksWrites ? null : 'Needs a source from MongoDB 6.0.';
}

function bodyOf(choices: StartChoices, view: Omit<StartView, 'body'>, clusters: Clusters): StartRequestBody {
  const includeNamespaces = choices.isFiltered ? selectorsOf(choices) : [];
  return {
    source: clusters?.source.name ?? 'cluster0',
    destination: clusters?.destination.name ?? 'cluster1',
    ...(view.indexes.buildIndexes === 'beforeDataCopy' ? {} : { buildIndexes: view.indexes.buildIndexes }),
    ...(view.indexConflicts.choice === 'refuse' ? {} : { indexConflicts: view.indexConflicts.choice }),
    ...(view.indexFailures.choice === 'refuse' ? {} : { indexFailures: view.indexFailures.choice }),
    ...blockingBody(view.writeBlocking),
    ...(view.reversible.isOn ? { reversible: true } : {}),
    ...(choices.carried.length === 0 ? {} : { carry: [...choices.carried] }),
    ...(view.verification.isOn ? {} : { verification: { enabled: false } }),
    ...(includeNamespaces.length === 0 ? {} : { includeNamespaces }),
    ...(view.needsShardKeys ? { sharding: shardingOf(choices) } : {}),
  };
}

function selectorsOf({ databases, collections }: StartChoices): NonNullable<StartRequestBody['includeNamespaces']> {
  const single = [...collections].filter(([database, names]) => !databases.has(database) && names.size > 0);
  return [
    ...[...databases].sort().map((database) => ({ database })),
    ...single.map(([database, names]) => ({ database, collections: [...names].sort() })),
  ];
}

function shardingOf({ shardKeys, createsSupportingIndexes }: StartChoices): StartRequestBody['sharding'] {
  const shardingEntries = [...shardKeys].flatMap(([namespace, text]) => {
    const key = shardKeyOf(text);
    const [database = '', ...rest] = namespace.split('.');
    return key.length === 0 ? [] : [{ database, collection: rest.join('.'), shardCollection: { key } }];
  });
  return { ...(createsSupportingIndexes ? { createSupportingIndexes: true } : {}), shardingEntries };
}

/** Maximum collections to ask shard keys for. */
const shardKeysMax = 50;

/** The collections to ask shard keys for: the largest, which come first. */
export function shardKeyNamespaces({ rows }: Pick<SourceReply, 'rows'>): string[] {
  return rows.slice(0, shardKeysMax).map(({ database, collection }) => `${database}.${collection}`);
}

/** A shard key written as field names with commas between them; `: hashed` after a name makes it hashed. */
export function shardKeyOf(text: string): Record<string, 1 | 'hashed'>[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const hashed = /^(?<name>.*?)\s*:\s*hashed$/i.exec(part)?.groups?.['name'];
      return hashed === undefined ? { [part]: 1 as const } : { [hashed]: 'hashed' as const };
    });
}

/** One database of the source. */
export interface DatabaseView {
  readonly name: string;
  readonly collections: readonly SourceReply['rows'][number][];
  readonly totalBytes: number;
  readonly documents: number;
}

/** The listed collections by database, the largest database first. */
export function databasesOf({ rows }: Pick<SourceReply, 'rows'>): DatabaseView[] {
  const byName = new Map<string, SourceReply['rows'][number][]>();
  for (const row of rows) {
    const known = byName.get(row.database);
    if (known === undefined) byName.set(row.database, [row]);
    else known.push(row);
  }
  return [...byName]
    .map(([name, collections]) => ({
      name,
      collections,
      totalBytes: collections.reduce((sum, { totalBytes }) => sum + totalBytes, 0),
      documents: collections.reduce((sum, { documents }) => sum + documents, 0),
    }))
    .sort((a, b) => b.totalBytes - a.totalBytes);
}
