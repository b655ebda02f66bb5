import { describe, expect, it } from 'vitest';
import {
  destinationPrivileges,
  missingPrivileges,
  notePrivileges,
  shardPrivileges,
  sourcePrivileges,
} from '../../../src/preflight/required-privileges.js';

/** Shortened from the answer of 5.0.7 for backup, clusterMonitor and readAnyDatabase. */
const recordedSource = [
  {
    resource: { cluster: true },
    actions: [
      'appendOplogNote',
      'getParameter',
      'inprog',
      'listDatabases',
      'listShards',
      'replSetGetConfig',
      'serverStatus',
      'useUUID',
    ],
  },
  { resource: { anyResource: true }, actions: ['collStats', 'listCollections', 'listIndexes'] },
  {
    resource: { db: '', collection: '' },
    actions: ['changeStream', 'collStats', 'dbStats', 'find', 'indexStats', 'listCollections', 'listIndexes'],
  },
  {
    resource: { db: 'config', collection: '' },
    actions: ['changeStream', 'collStats', 'find', 'listCollections', 'listIndexes'],
  },
  { resource: { db: '', collection: 'system.js' }, actions: ['find'] },
  { resource: { db: 'config', collection: 'settings' }, actions: ['find', 'insert', 'update'] },
];

/** Shortened from its answer for clusterManager, clusterMonitor, readWriteAnyDatabase and restore. */
const recordedDestination = [
  { resource: { cluster: true }, actions: ['flushRouterConfig', 'listDatabases', 'listShards', 'serverStatus'] },
  {
    resource: { db: '', collection: '' },
    actions: [
      'bypassDocumentValidation',
      'collMod',
      'createCollection',
      'createIndex',
      'dropCollection',
      'dropIndex',
      'enableSharding',
      'find',
      'indexStats',
      'insert',
      'listCollections',
      'listIndexes',
      'remove',
      'renameCollectionSameDB',
      'update',
    ],
  },
  { resource: { db: 'config', collection: '' }, actions: ['find', 'insert', 'remove', 'update'] },
];

describe('missingPrivileges', () => {
  it('finds nothing missing for the recorded users', () => {
    expect(missingPrivileges(recordedSource, sourcePrivileges.sharded)).toEqual([]);
    expect(missingPrivileges(recordedSource, shardPrivileges([5, 0, 7]))).toEqual([]);
    expect(missingPrivileges(recordedSource, notePrivileges)).toEqual([]);
    expect(missingPrivileges(recordedDestination, destinationPrivileges.sharded)).toEqual([]);
  });

  it('requires the privilege to read without a router for users of shards from 8.0 on', () => {
    expect(missingPrivileges(recordedSource, shardPrivileges([7, 0, 1]))).toEqual([]);
    expect(missingPrivileges(recordedSource, shardPrivileges([8, 0, 0]))).toEqual([
      'issueDirectShardOperations on the cluster',
    ]);
  });

  it('does not treat a privilege on one database or collection as one on all', () => {
    const granted = [
      { resource: { db: 'appdb', collection: '' }, actions: ['find'] },
      { resource: { db: '', collection: 'system.js' }, actions: ['find'] },
    ];
    expect(missingPrivileges(granted, [{ resource: 'everyDatabase', actions: ['find'] }])).toEqual([
      'find on every database',
    ]);
  });

  it('accepts anyResource for everything, and anyAction for every action', () => {
    expect(
      missingPrivileges([{ resource: { anyResource: true }, actions: ['anyAction'] }], destinationPrivileges.sharded),
    ).toEqual([]);
  });

  it('does not require a config database for users of a replica set', () => {
    const granted = recordedSource.filter(({ resource }) => resource.db !== 'config');
    expect(missingPrivileges(granted, sourcePrivileges.replicaSet)).toEqual([]);
    expect(
      missingPrivileges(
        [{ resource: { anyResource: true }, actions: ['find'] }],
        [...shardPrivileges([5, 0, 7]), ...destinationPrivileges.replicaSet],
      ),
    ).toEqual(expect.arrayContaining(['useUUID on the cluster', 'replSetGetConfig on the cluster']));
    expect(missingPrivileges(granted, sourcePrivileges.sharded)).toEqual([
      'find on the config database',
      'update on config.settings',
    ]);
  });
});
