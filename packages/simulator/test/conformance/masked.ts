import type { Json } from './corpus-file.js';

/**
 * Replaces what differs from run to run by its kind, so that replies can be compared.
 * Everything not named here must be equal.
 */

/** Fields that depend on time, memory, files or earlier connections. */
const measured: ReadonlySet<string> = new Set([
  'localTime', 'connectionId', 'millis', 'sizeOnDisk', 'totalSize', 'totalSizeMb', 'storageSize', 'indexSize', 'totalIndexSize', 'indexSizes',
  'freeStorageSize', 'fsUsedSize', 'fsTotalSize', 'numBalancerRounds', 'since', 'host', 'hostname', 'you', 'ping',
  'buildEnvironment', 'allocator', 'electionCandidateMetrics', 'uptime', 'infoMessage', 'electionTime', 'lastStableRecoveryTimestamp',
  'system', 'os', 'extra', 'argv', 'parsed', 'setVersion', 'version', 'topologyTime', 'postBatchResumeToken', 'lastmodEpoch', 'epoch',
  'electionTimeoutMillis', 'compression', 'indexBuilds', 'lsid', 'accesses', 'configVersion',
]);

/** Fields that nodes add around the answer, each for itself, and the inner statistics of the storage engine. */
const around: ReadonlySet<string> = new Set([
  'wiredTiger', 'indexDetails', '$clusterTime', 'operationTime', '$gleStats', 'lastCommittedOpTime', '$configServerState', '$configTime', '$topologyTime', 'topologyVersion', 'errorLabels',
]);

const yearOfRecording = 1_700_000_000;

export function masked(value: Json, path = ''): Json {
  if (Array.isArray(value)) return value.map((each) => masked(each, path));
  if (typeof value === 'string') return maskedText(value);
  if (value === null || typeof value !== 'object') return value;
  return maskedSpecial(value, path) ?? maskedDocument(value, path);
}

function maskedSpecial(value: Record<string, Json>, path: string): Json | undefined {
  const [name] = Object.keys(value);
  const inner = name === undefined ? undefined : value[name];
  if (name === '$timestamp') return (inner as { t: number }).t > yearOfRecording ? 'TIMESTAMP' : value;
  if (name === '$date') return Number((inner as { $numberLong?: string }).$numberLong ?? NaN) > yearOfRecording * 1000 + 1000 ? 'DATE' : value;
  if (name === '$oid') return /^6[5-9a-b]/.test(typeof inner === 'string' ? inner : '') ? 'OBJECTID' : value;
  if (name === '$binary' && (inner as { subType: string }).subType === '04' && !path.startsWith('cursor.firstBatch._id')) return 'UUID';
  if (name === '$numberLong' && (path === 'cursor.id' || path.startsWith('cursors'))) return inner === '0' ? '0' : 'CURSOR';
  if (name === '$numberDouble' && path === 'ok') return { $numberDouble: inner ?? null };
  return undefined;
}

function maskedDocument(value: Record<string, Json>, path: string): Json {
  const document: Record<string, Json> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (around.has(name)) continue;
    const field = maskedName(name, inner);
    document[field] = measured.has(name) || path === 'databases.shards' ? 'MEASURED' : masked(inner, path === '' ? name : `${path}.${name}`);
  }
  return document;
}

const setOfHost = /[A-Za-z0-9-]+\/127\.0\.0\.1:\d+/g;

/** Names of replies by host: the number of the shard is kept. */
function maskedName(name: string, value: Json): string {
  if (/^127\.0\.0\.1:\d+$/.test(name) && typeof value === 'string') return `HOST of ${value}`;
  return name.replace(setOfHost, (found) => `SET${/s(\d)\//.exec(found)?.[1] ?? 'cfg'}`);
}

function maskedText(text: string): string {
  if (/^82[0-9A-F]{16}2B0[0-9A-F]/.test(text)) return maskedToken(text);
  return text
    .replace(setOfHost, (found) => `SET${/s(\d)\//.exec(found)?.[1] ?? 'cfg'}`)
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replace(/^(src-s\d|plain|s\d|rs0)$/, 'SETNAME')
    .replace(/Timestamp\(\d+, \d+\)/g, 'TIMESTAMP')
    .replace(/ObjectId\('6[5-9a-b][0-9a-f]{22}'\)/g, 'OBJECTID')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replace(/UUID - [A-Za-z0-9+/=]{44}/g, 'SESSION')
    .replace(/tmp[A-Za-z0-9]{5}\.convertToCapped/g, 'tmpRANDOM.convertToCapped')
    .replace(/\d{15,19}/g, 'CURSOR');
}

function maskedToken(token: string): string {
  return token.replace(/^82[0-9A-F]{16}/, '82TIME').replace(/5A1004[0-9A-F]{32}/, '5A1004UUID').replace(/646[5-9A-B][0-9A-F]{22}/, '64OBJECTID');
}
