import type { Pattern } from './pattern.js';
import {
  isBatchToken, isClusterTime, isCount, isCursorId, isDouble, isDuration, isInt, isLong, isObjectId, isObjectIdOfRun, isSignatureHash, isText, isTexts, isTimeOfRun, isUuid, isValue,
} from './value-forms.js';

/**
 * Everything that is not compared, each with its reason. What no pattern names must be equal: fields, their order, types and values.
 * Addresses are no pattern: they are translated into the parts of their nodes on both sides, see `mask-reply.ts`.
 */
export const patterns: readonly Pattern[] = [
  {
    name: 'cluster time',
    paths: [
      '**.$clusterTime.clusterTime', '**.operationTime', '**.$configServerState.opTime.ts', '**.$gleStats.lastOpTime.ts', '**.lastCommittedOpTime',
      '**.$configTime', '**.$topologyTime', 'cursor.atClusterTime', 'cursor.*[].clusterTime', 'cursor.*[].history[].validAfter', 'cursor.*[].t0',
      'cursor.*[].fullDocument.t0', 'cursor.*[].timestamp', '**.topologyTime', 'cursor.*[].ts', 'cursor.*[].version.timestamp', 'lastStableRecoveryTimestamp',
      'electionCandidateMetrics.*.ts', '**.lastWrite.*.ts', 'members[].electionTime', 'members[].optime.ts', 'opTime.ts', 'optimes.*.ts',
      'sharding.lastSeenConfigServerOpTime.ts',
    ],
    covers: { value: isClusterTime },
    reason: 'Cluster times begin with the seconds of the wall clock.',
  },
  {
    name: 'signature',
    paths: ['$clusterTime.signature.hash'],
    covers: { value: isSignatureHash },
    reason: 'Clusters with access control sign their times with a random key; the zeros of all others are compared.',
  },
  {
    name: 'signing key',
    paths: ['$clusterTime.signature.keyId'],
    covers: { value: (value) => isLong(value) && isCursorId(value) },
    reason: 'The number of that key is the time at which it was made; 0, no key, is compared.',
  },
  {
    name: 'SIGNATURE',
    paths: ['errmsg'],
    covers: { text: /(?<=signature: \{ hash: BinData\(0, )[0-9A-F]{40}(?=\), keyId: )/g },
    reason: 'The signature in a refused command, which an error shows.',
  },
  {
    name: 'KEY',
    paths: ['errmsg'],
    covers: { text: /(?<=signature: \{ hash: BinData\(0, [^)]*\), keyId: )\d{19}(?= \} \})/g },
    reason: 'The number of the signing key in a refused command, which an error shows.',
  },
  {
    name: 'time',
    paths: [
      'cursor.*[].accesses.since', 'cursor.*[].lastmod', 'cursor.*[].localTime', 'cursor.*[].wall', 'date', 'electionCandidateMetrics.*', '**.lastWrite.*Date', 'localTime',
      'members[].electionDate', 'members[].*Time', 'members[].optimeDate', 'optimes.*Time', 'system.currentTime', 'defaultRWConcern.localUpdateWallClockTime',
    ],
    covers: { value: isTimeOfRun },
    reason: 'The wall clock.',
  },
  {
    name: 'DOCUMENT',
    paths: ['errmsg', '**.errmsg'],
    covers: { text: /(?<=Input document: )\{.*\}$/g },
    reason: 'As much of a document as the plan had read when a stage failed over it.',
  },
  {
    name: 'TIME',
    paths: ['errmsg'],
    covers: { text: /(?<=Timestamp\()\d{10}, \d+(?=\))/g },
    reason: 'Cluster times that an error tells.',
  },
  {
    name: 'ObjectId',
    paths: [
      'config.settings.replicaSetId', 'cursor.*[]._id', 'cursor.*[].clusterId', 'cursor.*[].documentKey._id', 'upserted[]._id', 'lastErrorObject.upserted', 'value._id', 'cursor.*[].fullDocument._id', 'cursor.*[].epoch', 'cursor.*[].lastmodEpoch',
      '**.topologyVersion.processId', 'cursor.*[].control.*._id', 'cursor.*[].data._id.*',
    ],
    covers: { value: isObjectIdOfRun },
    isPaired: true,
    reason: 'ObjectIds begin with the seconds of the wall clock and go on at random.',
  },
  {
    name: 'OBJECTID',
    paths: ['cursor.*[]._id'],
    subjects: ['find chunks'],
    covers: { text: /(?<=ObjectId\(')[0-9a-f]{24}(?='\))/g },
    reason: 'Chunks are named by the key at which they begin.',
  },
  {
    name: 'UUID',
    paths: ['cursor.*[].collectionUuid', 'cursor.*[].info.uuid', 'cursor.*[].ui', 'cursor.*[].uuid', 'cursor.*[].version.uuid', 'users[].userId'],
    covers: { value: isUuid },
    isPaired: true,
    reason: 'Collections, databases and users have random UUIDs.',
  },
  {
    name: 'first to answer',
    paths: ['recoveryToken.recoveryShardId'],
    covers: { value: isText },
    reason: 'The shard that wrote first; where several were asked at once, the first to answer.',
  },
  {
    name: 'first to answer',
    paths: ['recoveryToken.recoveryShardId'],
    subjects: ['abortTransaction'],
    covers: { omitted: true },
    reason: 'A shard that answers after another one has failed is not listened to: whether it has written the router then does not know.',
  },
  {
    name: 'ABORTED',
    paths: ['errmsg'],
    subjects: ['commitTransaction'],
    covers: { text: /^(?:Transaction was aborted :: caused by :: from shard shard\d :: caused by :: Transaction \d+ has been aborted\.|Recovering the transaction's outcome found the transaction aborted)$/g },
    reason: 'A commit that is asked for again meets the coordinator of the one before, or what it has left, as it comes.',
  },
  {
    name: 'SHARD',
    paths: ['errmsg'],
    subjects: ['commitTransaction'],
    covers: { text: /(?<=on the transaction participant |aborted :: caused by :: from shard )shard\d+/g },
    reason: 'Of several participants that cannot commit, the first to answer, or whichever stands first in a hash table.',
  },
  {
    name: 'SHARD',
    paths: ['errmsg'],
    covers: { text: /(?<=^Error on remote shard )\S+(?= :: caused by :: )/g },
    reason: 'Of several shards whose documents fail a stage, the first to answer.',
  },
  {
    name: 'HOST',
    paths: ['errmsg'],
    covers: { text: /(?<=^Encountered error from )(?:<shard\d>|127\.0\.0\.1:\d+)(?= during a transaction :: caused by :: (?:Transaction \d+ has been aborted\.$|WriteConflict error: ))/g },
    reason: 'Of several participants that have given a transaction up, or meet another one, the first to answer.',
  },
  {
    name: 'ERRORS',
    paths: ['writeErrors[].errmsg'],
    covers: { text: /(?<=^multiple errors for op : ).*/gs },
    reason: 'The errors of several shards in the order of their answers; each one of them is compared where they are listed.',
  },
  { name: 'session', paths: ['cursor.*[].lsid.id'], covers: { value: isUuid }, reason: 'Sessions have random UUIDs.' },
  {
    name: 'UUID',
    paths: ['errmsg', 'raw.{host}.errmsg', 'writeErrors[].errmsg', 'cursor.*[].ns.coll'],
    covers: { text: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g },
    reason: 'Random ids of collections, index builds and sessions in errors, and of temporary collections in events.',
  },
  {
    name: 'cursor id',
    paths: ['cursor.id', 'cursorsKilled[]'],
    covers: { value: isCursorId },
    reason: 'Random; 0, a closed cursor, is compared.',
  },
  {
    name: 'CURSOR',
    paths: ['errmsg'],
    subjects: ['getMore'],
    covers: { text: /(?<=(?:, id: |cursor id |on cursor ))\d{10,19}\b/g },
    reason: 'Random ids of cursors in errors.',
  },
  {
    name: 'TIME',
    paths: ['cursor.*[]._id._data', 'cursor.postBatchResumeToken._data'],
    covers: { text: /(?<=^82)[0-9A-F]{16}/g },
    reason: 'The cluster time at which a resume token stands.',
  },
  {
    name: 'UUID',
    paths: ['cursor.*[]._id._data', 'cursor.postBatchResumeToken._data'],
    covers: { text: /(?<=5A1004)[0-9A-F]{32}/g },
    reason: 'The id of the collection that a resume token names.',
  },
  {
    name: 'OBJECTID',
    paths: ['cursor.*[]._id._data', 'cursor.postBatchResumeToken._data'],
    covers: { text: /(?<=645F69640064)[0-9A-F]{24}/g },
    reason: 'The generated _id that a resume token names.',
  },
  {
    name: 'RANDOM',
    paths: ['cursor.*[].ns.coll'],
    covers: { text: /(?<=^tmp)[A-Za-z0-9]{5}(?=\.(?:convertToCapped|renameCollection))/g },
    reason: 'Temporary collections have random names.',
  },
  {
    name: 'bucket id',
    paths: ['cursor.firstBatch[]._id'],
    subjects: ['find system.buckets.series'],
    covers: { value: isObjectId },
    reason: 'The id of a bucket begins with its time and goes on at random.',
  },
  {
    name: 'token of the moment',
    paths: ['cursor.postBatchResumeToken._data'],
    subjects: ['getMore'],
    covers: { value: isBatchToken },
    reason: 'Whether a batch ends at its last event or at a later time depends on what the node has seen of the oplogs at that moment.',
  },
  {
    name: 'token of the moment',
    paths: ['cursor.postBatchResumeToken._data'],
    steps: ['06-resume-and-errors:25'],
    covers: { value: isBatchToken },
    reason: 'The same: a first batch that holds the last event written.',
  },
  {
    name: 'bytes of the oplog',
    paths: ['cursor.firstBatch[].storageStats.size'],
    steps: ['01-handshake:48'],
    covers: { value: isInt },
    reason: 'The entries that the set-up of a real cluster wrote.',
  },
  {
    name: 'entries',
    paths: ['count'],
    subjects: ['configureFailPoint'],
    covers: { value: isInt },
    reason: 'How often the node came upon the fail point, which ranges of config.system.sessions do too.',
  },
  {
    name: 'sampled id',
    paths: ['cursor.firstBatch[]._id'],
    subjects: ['aggregate $sample'],
    covers: { value: isValue },
    reason: '$sample draws documents at random; how many it gives is compared.',
  },
  {
    name: 'duration',
    paths: ['millis', 'members[].uptime', 'uptime', 'uptimeMillis', 'uptimeEstimate'],
    covers: { value: isDuration },
    reason: 'How long something took or a node has run.',
  },
  {
    name: 'connection id',
    paths: ['connectionId'],
    covers: { value: isInt },
    reason: 'Nodes number their connections; the recorded ones had others before.',
  },
  {
    name: 'bytes on disk',
    paths: [
      '**.storageSize', '**.totalSize', 'totalSizeMb', '**.indexSize', 'databases[].sizeOnDisk', 'databases[].shards.*', '**.fsUsedSize', '**.fsTotalSize', '**.freeStorageSize',
    ],
    covers: { value: (value) => isCount(value) || isDouble(value) },
    reason: 'Blocks that the storage engine has written so far; the simulator has memory only.',
  },
  {
    name: 'engine statistics',
    paths: ['**.wiredTiger', '**.indexDetails'],
    subjects: ['collStats', 'aggregate $collStats'],
    covers: { omitted: true },
    reason: 'Counters of a storage engine that the simulator does not have.',
  },
  {
    name: 'machine',
    paths: ['host', 'system.hostname', 'cursor.*[].host'],
    subjects: ['serverStatus', 'hostInfo', 'aggregate $collStats', 'aggregate $indexStats'],
    covers: { text: /^[A-Za-z0-9.-]+:\d{4,5}$/g },
    reason: 'The name of the machine, and a free port.',
  },
  { name: 'machine', paths: ['hostname'], subjects: ['isdbgrid'], covers: { value: isText }, reason: 'The name of the machine.' },
  {
    name: 'machine',
    paths: ['os.*', 'system.cpuArch', 'system.memSizeMB', 'system.memLimitMB', 'system.numCores'],
    subjects: ['hostInfo'],
    covers: { value: (value) => isText(value) || isCount(value) },
    reason: 'The operating system, processor and memory of the machine.',
  },
  { name: 'machine', paths: ['extra.*'], subjects: ['hostInfo'], covers: { omitted: true }, reason: 'What the operating system tells about its kernel and processor.' },
  {
    name: 'build',
    paths: ['allocator', 'buildEnvironment.**'],
    subjects: ['buildInfo'],
    covers: { omitted: true },
    reason: 'Compilers, their flags and libraries, by which the recorded server was built.',
  },
  { name: 'arguments', paths: ['argv'], subjects: ['getCmdLineOpts'], covers: { value: isTexts }, reason: 'The command line by which a node was started.' },
  {
    name: 'arguments',
    paths: ['parsed.net.port', 'parsed.setParameter', 'parsed.storage', 'parsed.replication.oplogSizeMB'],
    subjects: ['getCmdLineOpts'],
    covers: { omitted: true },
    reason: 'Ports, folders, sizes and test settings with which the recorded nodes were started.',
  },
  {
    name: 'set',
    paths: ['setName', 'repl.setName', 'set', 'config._id', 'parsed.replication.replSet'],
    covers: { text: /^(?:src-|A-)?s(?=\d$)/g },
    reason: 'The names of replica sets are the maker\'s choice; the shard\'s number in them is compared.',
  },
  {
    name: 'election time-out',
    paths: ['electionCandidateMetrics.electionTimeoutMillis'],
    covers: { value: isLong },
    reason: 'The recorded sets of the first cluster were made with a shorter one.',
  },
  {
    name: 'sync source',
    paths: ['members[].infoMessage'],
    covers: { value: isText },
    reason: 'A member that has just been elected still tells that it looked for a member to sync from.',
  },
  { name: 'process id', paths: ['pid'], subjects: ['serverStatus'], covers: { value: isLong }, reason: 'Given by the operating system.' },
  {
    name: 'counter',
    paths: ['asserts.*', 'connections.*', 'opcounters.*', 'repl.rbid'],
    subjects: ['serverStatus'],
    covers: { value: isCount },
    reason: 'What a node has done since its start, of which the recorded commands are a part only.',
  },
  {
    name: 'server statistics',
    paths: [
      'catalogStats', 'electionMetrics', 'extra_info', 'globalLock', 'health', 'hedgingMetrics', 'locks', 'logicalSessionRecordCache', 'mem', 'network', 'opLatencies', 'oplogTruncation', 'readConcernCounters', 'repl.primaryOnlyServices', 'scramCache', 'security',
      'shardingStatistics', 'storageEngine.dropPendingIdents', 'storageEngine.oldestRequiredTimestampForCrashRecovery', 'tenantMigrations', 'transactions',
    ],
    subjects: ['serverStatus'],
    covers: { omitted: true },
    reason: 'Counters of locks, threads, services, memory and files, which nothing of the simulator corresponds to.',
  },
];

/** Documents whose fields the server puts in the order in which its shards happened to answer. */
export const unorderedFields: readonly string[] = ['raw', 'shards'];

/** What a step that is marked `unordered` may give in any order. */
export const batches: readonly string[] = ['cursor.firstBatch', 'cursor.nextBatch'];

/** A list whose order the server leaves open. */
export interface UnorderedList extends Pick<Pattern, 'subjects' | 'steps' | 'reason'> {
  readonly path: string;
}

export const unorderedLists: readonly UnorderedList[] = [
  { path: 'authInfo.authenticatedUserRoles', subjects: ['connectionStatus'], reason: 'Roles come in the order of a hash table.' },
  { path: 'authInfo.authenticatedUserPrivileges', subjects: ['connectionStatus'], reason: 'Privileges come in the order of a hash table.' },
  { path: 'writeErrors[].errInfo.causedBy', reason: 'Shards answer a statement that all of them were asked as they come.' },
  { path: 'upserted', subjects: ['update'], reason: 'Shards answer the statements of an unordered bulk as they come.' },
  { path: 'cursor.firstBatch', subjects: ['listCollections'], reason: 'Collections come in the order of their random UUIDs.' },
  { path: 'cursor.firstBatch', subjects: ['aggregate $indexStats'], reason: 'Indexes come in the order of a hash table, shards in the order in which they answer.' },
  { path: 'cursor.firstBatch', subjects: ['aggregate $collStats'], reason: 'Shards come in the order in which they answer.' },
  {
    path: 'cursor.firstBatch',
    steps: ['08-reads-at-a-time:17', '08-reads-at-a-time:30'],
    reason: 'Reads that do not sort: the router gives on what its shards found as they answer.',
  },
  {
    path: 'cursor.nextBatch',
    steps: ['04-events-documents:81', '04-events-documents:84'],
    reason: 'Events of an update and a delete that both shards did at once, partly at the same cluster time.',
  },
];
