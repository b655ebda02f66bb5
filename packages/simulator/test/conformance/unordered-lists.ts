import type { Pattern } from './pattern.js';

/** Documents whose fields come in the order in which the shards answered. */
export const unorderedFields: readonly string[] = ['raw', 'shards'];

/** What a step marked `unordered` may return in any order. */
export const batches: readonly string[] = ['cursor.firstBatch', 'cursor.nextBatch'];

/** A list without a defined order. */
interface UnorderedList extends Pick<Pattern, 'subjects' | 'steps' | 'reason'> {
  readonly path: string;
}

export const unorderedLists: readonly UnorderedList[] = [
  {
    path: 'authInfo.authenticatedUserRoles',
    subjects: ['connectionStatus'],
    reason: 'Roles come in hash table order.',
  },
  {
    path: 'authInfo.authenticatedUserPrivileges',
    subjects: ['connectionStatus'],
    reason: 'Privileges come in hash table order.',
  },
  {
    path: 'writeErrors[].errInfo.causedBy',
    reason: 'The errors come in the order in which the shards answered.',
  },
  {
    path: 'upserted',
    subjects: ['update'],
    reason: 'The entries of an unordered bulk come in the order in which the shards answered.',
  },
  {
    path: 'cursor.firstBatch',
    subjects: ['listCollections'],
    reason: 'Collections come in the order of their random UUIDs.',
  },
  {
    path: 'cursor.firstBatch',
    subjects: ['aggregate $indexStats'],
    reason: 'Indexes come in hash table order, shards in the order of their answers.',
  },
  {
    path: 'cursor.firstBatch',
    subjects: ['aggregate $collStats'],
    reason: 'Shards come in the order of their answers.',
  },
  {
    path: 'cursor.firstBatch',
    steps: ['08-reads-at-a-time:17', '08-reads-at-a-time:30', '8.0/08-reads-at-a-time:17', '8.0/08-reads-at-a-time:30'],
    reason: 'Reads without a sort: the router returns documents in the order in which the shards answer.',
  },
  {
    path: 'cursor.nextBatch',
    steps: ['04-events-documents:81', '04-events-documents:84'],
    reason: 'Events of an update and a delete that both shards ran at once, partly at the same cluster time.',
  },
  {
    path: 'cursor.nextBatch',
    steps: ['8.0/04-events-documents:123', '8.0/04-events-documents:126', '8.0/04-events-documents:129'],
    reason: 'A delete and an insert of one transaction on two shards, each at the time of its own entry.',
  },
  {
    path: 'cursor.nextBatch',
    steps: [
      '8.0/05-events-ddl:143',
      '8.0/05-events-ddl:144',
      '8.0/05-events-ddl:145',
      '8.0/05-events-ddl:146',
      '8.0/05-events-ddl:147',
      '8.0/05-events-ddl:148',
    ],
    reason: 'dropDatabase drops collections in the order of their random UUIDs.',
  },
];
