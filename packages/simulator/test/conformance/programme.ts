import { openAccessStage } from './access-stage.js';
import { openClusterStage, openReplicaSetStage } from './cluster-stage.js';
import type { CorpusFile } from './corpus-file.js';
import { openFoundStage } from './found-stage.js';
import type { Stage } from './stage.js';

/** Files that were recorded one after the other on one cluster, and what to play them on. */
interface Act {
  readonly files: readonly CorpusFile[];
  readonly open: () => Promise<Stage>;
}

/** The files of 8.0.10, which was started anew for fewer files. */
const actsOf80: readonly Act[] = [
  {
    files: [
      '8.0/01-handshake',
      '8.0/02-catalog',
      '8.0/03-crud',
      '8.0/04-events-documents',
      '8.0/05-events-ddl',
      '8.0/06-resume-and-errors',
    ],
    open: () => openClusterStage('8.0'),
  },
  { files: ['8.0/07-auth'], open: () => openAccessStage('8.0') },
  {
    files: ['8.0/08-reads-at-a-time', '8.0/09-shard-key-hashes', '8.0/10-initial-distribution', '8.0/11-transactions'],
    open: () => openClusterStage('8.0'),
  },
  { files: ['8.0/12-fencing', '8.0/13-orphans'], open: () => openClusterStage('8.0') },
  { files: ['8.0/14-replica-set'], open: () => openReplicaSetStage('8.0') },
  { files: ['8.0/15-attributes'], open: () => openClusterStage('8.0') },
  { files: ['8.0/16-found-answers'], open: () => openFoundStage(false, '8.0') },
  { files: ['8.0/17-time-series'], open: () => openFoundStage(false, '8.0') },
  { files: ['8.0/18-under-way'], open: () => openFoundStage(false, '8.0') },
];

/** All files of the corpus that can be played. */
export const programme: readonly Act[] = [
  {
    files: ['01-handshake', '02-catalog', '03-crud', '04-events-documents', '05-events-ddl', '06-resume-and-errors'],
    open: () => openClusterStage('5.0'),
  },
  { files: ['07-auth'], open: () => openAccessStage('5.0') },
  {
    files: ['08-reads-at-a-time', '09-shard-key-hashes', '10-initial-distribution', '11-transactions'],
    open: () => openClusterStage('5.0'),
  },
  { files: ['12-fencing', '13-orphans'], open: () => openClusterStage('5.0') },
  { files: ['14-replica-set'], open: () => openReplicaSetStage('5.0') },
  { files: ['15-attributes'], open: () => openClusterStage('5.0') },
  ...actsOf80,
  ...(
    [
      '16-found-data',
      '17-found-definitions',
      '18-found-sharding',
      '19-found-sessions',
      '20-found-queries',
      '22-found-computations',
      '23-found-index-conflicts',
      '24-found-pipelines',
      '25-storage-options',
      '27-found-sharding-checks',
      '28-found-transactions',
      '29-found-chunks',
      '30-found-commits',
      '33-nulls',
      '36-id-conjunctions',
      '37-waits',
      '38-found-placements',
      '39-found-long-runs',
      '40-record-order',
      '42-found-deviation',
      '43-data-sizes',
      '44-index-builds',
    ] as const
  ).map((file) => ({ files: [file], open: () => openFoundStage(false) })),
  ...(['21-found-privileges', '41-found-roles'] as const).map((file) => ({
    files: [file],
    open: () => openFoundStage(true),
  })),
];
