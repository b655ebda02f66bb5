import type { ReleaseSeries } from '@convoy/simulator';
import type { Document } from 'mongodb';
import { sampled } from '../../test/seed.js';
import type { SentCommand } from '../gate/wire-messages.js';

/** Action of an operator or an application that brings the leader to a step. */
export type Provocation = 'drop' | 'rename' | 'create' | 'shard' | 'index' | 'newLeader';

/** One thing that a leader sends to the destination: the moment in which it is on its way is the step. */
export interface LeaderStep {
  readonly name: string;
  readonly matches: (command: SentCommand) => boolean;
  /** Absent if the migration reaches it by itself. */
  readonly provocation?: Provocation;
  /** Who sends it when not the leader alone: all instances do, or it is what the leader waits for from the others. */
  readonly sender?: 'everybody' | 'others';
  /** Servers from this release on do without it: they convert indexes in place. */
  readonly releaseBelow?: number;
}

const metadata = 'convoy_metadata';
const systemDatabases: ReadonlySet<string> = new Set([metadata, 'admin', 'config', 'local']);

/** Writes a document of the metadata database that has a field with this value, or the field at all. */
export function writes(collection: string, field: string, value?: unknown): LeaderStep['matches'] {
  return ({ name, database, target, body }) => {
    if (database !== metadata || target !== collection || !['update', 'findAndModify'].includes(name)) return false;
    return fieldsOf(body).some(([path, set]) => path === field && (value === undefined || set === value));
  };
}

/** What an update sets, raises or replaces, by path; without `$setOnInsert`. */
export function fieldsOf(body: Document): [string, unknown][] {
  const updates =
    'update' in body && typeof body['update'] === 'object'
      ? [body['update'] as Document]
      : ((body['updates'] ?? []) as Document[]).map(({ u }) => u as Document);
  return updates.flatMap((update) =>
    Object.entries(update).flatMap(([key, value]): [string, unknown][] =>
      key === '$setOnInsert' ? [] : key.startsWith('$') ? Object.entries(value as Document) : [[key, value]],
    ),
  );
}

/** A command about collections of users. */
function changes(...names: string[]): LeaderStep['matches'] {
  return ({ name, database }) => names.includes(name) && !systemDatabases.has(database);
}

/** An insert of users' documents; while nothing is applied yet, the copy sends them. */
export const copiesDocuments = changes('insert');

function administers(name: string, ofMetadata = false): LeaderStep['matches'] {
  return (command) =>
    command.name === name && command.database === 'admin' && command.target.startsWith(`${metadata}.`) === ofMetadata;
}

const commitOf =
  (isMeant: (commit: Document) => boolean): LeaderStep['matches'] =>
  ({ database, target, body }) =>
    database === metadata &&
    target === 'migration' &&
    fieldsOf(body).some(([path, value]) => path === 'commit' && isMeant(value as Document));

/** A task's answer about everything that was left to compare. */
const answersLastLook: LeaderStep['matches'] = ({ database, target, body }) =>
  database === metadata &&
  target === 'tasks' &&
  fieldsOf(body).some(([path, value]) => path === 'verification' && Number((value as Document)['answered']) > 0);

/**
 * Everything that a leader sends, in the order of a migration. Tests kill, stall and count everything added here by
 * itself.
 */
export const leaderSteps = {
  initialisation: [
    { name: 'takes its epoch', matches: writes('migration', 'leaderEpoch') },
    { name: 'records the balancers', matches: writes('migration', 'balancers') },
    { name: 'stops the balancer', matches: ({ name }) => name === 'balancerStop' },
    {
      name: 'enables sharding for the fence',
      matches: ({ name, target }) => name === 'enableSharding' && target === metadata,
    },
    { name: 'shards the fence', matches: administers('shardCollection', true) },
    {
      name: 'fills the fence',
      matches: ({ name, target, body }) =>
        name === 'update' && target === 'fence' && JSON.stringify(body['updates'] ?? []).includes('$setOnInsert'),
    },
    { name: 'stores the catalog', matches: writes('collections', 'entry') },
    { name: 'enables sharding', matches: ({ name, target }) => name === 'enableSharding' && target !== metadata },
    { name: 'makes collections', matches: changes('create') },
    { name: 'makes indexes', matches: changes('createIndexes') },
    { name: 'shards collections', matches: administers('shardCollection') },
    { name: 'records the pairs of collections', matches: writes('uuids', 'destinationUuid') },
    { name: 'ends the initialisation', matches: writes('migration', 'phase', 'syncing') },
  ],
  copy: [
    { name: 'copies documents', matches: copiesDocuments, sender: 'everybody' },
    { name: 'stores the DDL watermark', matches: writes('migration', 'ddlWatermark') },
  ],
  ddlChanges: [
    { name: 'takes its epoch', matches: writes('migration', 'leaderEpoch'), provocation: 'newLeader' },
    { name: 'claims the journal', matches: writes('ddlChanges', 'epoch'), provocation: 'newLeader' },
    { name: 'writes an entry', matches: writes('ddlChanges', 'state', 'undone'), provocation: 'drop' },
    { name: 'lets an entry count', matches: writes('migration', 'ddlChanges.known'), provocation: 'rename' },
    {
      name: 'waits for acknowledgements',
      matches: writes('tasks', 'acknowledged'),
      provocation: 'drop',
      sender: 'others',
    },
    { name: 'confirms its epoch', matches: writes('migration', 'ddlChanges.done'), provocation: 'create' },
    { name: 'drops', matches: changes('drop'), provocation: 'drop' },
    { name: 'renames', matches: ({ name }) => name === 'renameCollection', provocation: 'rename' },
    { name: 'creates', matches: changes('create'), provocation: 'create' },
    { name: 'shards', matches: administers('shardCollection'), provocation: 'shard' },
    { name: 'records the pair', matches: writes('uuids', 'destinationUuid'), provocation: 'create' },
    { name: 'says what came of an entry', matches: writes('ddlChanges', 'state', 'done'), provocation: 'rename' },
    { name: 'builds an index', matches: changes('createIndexes'), provocation: 'index' },
  ],
  apply: [
    { name: 'applies changes', matches: changes('update', 'delete', 'insert'), sender: 'everybody' },
    { name: 'sets the final total', matches: writes('migration', 'estimatedTotalBytes'), provocation: 'newLeader' },
  ],
  commit: [
    { name: 'begins to commit', matches: writes('migration', 'phase', 'committing') },
    { name: 'takes a commit time', matches: commitOf(({ sealed }) => sealed === false) },
    { name: 'waits until all are drained', matches: writes('tasks', 'drained'), sender: 'others' },
    { name: 'stores the committed catalog', matches: writes('committedCollections', 'entry') },
    { name: 'seals the commit time', matches: commitOf(({ sealed }) => sealed === true) },
    { name: 'asks for the last look', matches: writes('migration', 'verification') },
    { name: 'waits for the last look', matches: answersLastLook, sender: 'others' },
    { name: 'lets attributes be restored', matches: writes('migration', 'attributesRestoring') },
    { name: 'makes indexes unique', matches: changes('createIndexes'), releaseBelow: 6 },
    { name: 'takes plain indexes away', matches: changes('dropIndexes'), releaseBelow: 6 },
    { name: 'restores attributes', matches: changes('collMod') },
    { name: 'asks for the look before the opening', matches: writes('migration', 'lastLook') },
    { name: 'opens the destination', matches: writes('migration', 'phase', 'opening') },
    { name: "stores the destination's time of the opening", matches: writes('migration', 'handOver') },
    { name: 'permits writes', matches: writes('migration', 'canWrite', true) },
    { name: 'starts the balancer', matches: ({ name }) => name === 'balancerStart' },
    { name: 'ends the migration', matches: writes('migration', 'phase', 'committed') },
  ],
} satisfies Record<string, readonly LeaderStep[]>;

export type FaultPhase = keyof typeof leaderSteps;

/** The releases of simulated servers with which a phase has all of its steps. */
export const releasesOf = (phase: FaultPhase): readonly ReleaseSeries[] =>
  phase === 'commit' ? sampled(['8.0', '5.0']) : ['8.0'];

/** The steps of a phase with these servers. */
export function stepsOf(phase: FaultPhase, release: number): readonly LeaderStep[] {
  const steps: readonly LeaderStep[] = leaderSteps[phase];
  return steps.filter(({ releaseBelow }) => releaseBelow === undefined || release < releaseBelow);
}
