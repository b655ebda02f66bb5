import type { History } from '@convoy/api/contract/history';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { progressInfo } from '@convoy/api/contract/progress';

const points = 120;
const interval_ms = 60_000;
const collections = 214;

/** Details that a fleet in this state publishes; null for those that it does not have. */
export function stagedDetails(reports: readonly InstanceReport[], now_ms: number): Partial<PublishedDetails> {
  const [first] = reports;
  if (first === undefined || first.state === 'IDLE' || first.state === 'INITIALIZING') return {};
  const { collectionCopy, info } = first.progress;
  const part = (collectionCopy?.estimatedCopiedBytes ?? 0) / (collectionCopy?.estimatedTotalBytes ?? 1);
  const isPreparing = info === progressInfo.initializing;
  return {
    preflight: stagedPreflight(now_ms),
    logs: logsOf(now_ms, first),
    ...(isPreparing ? {} : { namespaces: namespacesOf(part * reports.length) }),
    history: historyOf(now_ms, isPreparing ? 0 : points, collectionCopy?.estimatedTotalBytes ?? 1, part * 3, first),
  };
}

function logsOf(now_ms: number, { failure }: InstanceReport): PublishedDetails['logs'] {
  const retried = {
    id: 'shard0-1',
    at_ms: now_ms - 40 * interval_ms,
    level: 'warn' as const,
    event: 'redisUnavailable',
    message: 'Redis is unreachable, retrying',
    fields: { reason: 'ECONNREFUSED' },
  };
  if (failure === null) return { records: [retried] };
  const failed = {
    id: 'shard0-2',
    at_ms: now_ms - interval_ms,
    level: 'error' as const,
    event: 'migrationFailed',
    message: 'the migration has failed',
    fields: { ...failure },
  };
  return { records: [retried, failed] };
}

type Preflight = PublishedDetails['preflight'];

/** Checks of a start, with a warning. */
export function stagedPreflight(at_ms: number): Preflight {
  const item = (result: 'passed' | 'warning', check: string, description: string): Preflight['items'][number] => ({
    check,
    result,
    error: null,
    description,
  });
  return {
    at_ms,
    canStart: true,
    items: [
      item('passed', 'clusters', 'cluster0 (7.0.5, 3 shards) to cluster1 (7.0.5, 4 shards).'),
      item('passed', 'options', 'The options fit the versions and topologies.'),
      item('passed', 'privileges', 'The users have all privileges.'),
      item('warning', 'oplogWindow', 'The oplog of shard1 holds 14 hours. Make it larger than the copy takes.'),
    ],
  };
}

function namespacesOf(copied: number): PublishedDetails['namespaces'] {
  const rows = Array.from({ length: collections }, (_, at) => {
    const totalBytes = Math.round(3e10 / (at + 1));
    const isDone = copied >= 1 || at > 4;
    return {
      namespace: `${['shop', 'billing', 'analytics'][at % 3]}.collection_${at}`,
      totalBytes,
      copiedBytes: isDone ? totalBytes : Math.round(totalBytes * copied),
      copiedDocuments: Math.round(40_000 / (at + 1)),
      partitions: { waiting: isDone ? 0 : 8, starting: 0, copying: isDone ? 0 : 1, done: 3 },
    };
  });
  return { rows, others: { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 } };
}

function historyOf(now_ms: number, count: number, totalBytes: number, part: number, first: InstanceReport): History {
  const began_ms = now_ms - points * interval_ms;
  const entry = (
    minutes: number,
    text: string,
    level: 'info' | 'good' | 'bad' = 'info',
  ): History['timeline'][number] => ({
    at_ms: began_ms + minutes * 60_000,
    kind: 'state',
    level,
    text,
  });
  const ends: Readonly<Record<string, History['timeline']>> = {
    COMMITTED: [entry(118, 'The commit began.'), entry(119, 'The fleet is COMMITTED.', 'good')],
    COMMITTING: [entry(119, 'The commit began.')],
    PAUSED: [entry(110, 'The fleet is PAUSED.')],
    REVERSING: [entry(119, 'The reverse began.')],
  };
  const failed = first.failure === null ? [] : [entry(119, `${first.failure.error}: the migration failed.`, 'bad')];
  return {
    interval_ms,
    points: Array.from({ length: count }, (_, at) => ({
      at_ms: began_ms + at * interval_ms,
      copiedBytes: Math.min(1, ((at + 1) / count) * 1.1) * part * totalBytes,
      totalBytes,
      copiedDocuments: at * 3_700,
      eventsApplied: at * 1_400 + Math.round(300 * Math.sin(at / 5)),
      lagSeconds: 3 + Math.round(2 * Math.sin(at / 3)),
    })),
    timeline: [
      entry(0, 'The fleet is RUNNING.'),
      entry(0, 'shard0 leads.'),
      ...(count === 0 ? [] : [entry(1, 'Collections and indexes were created; the copy began.')]),
      ...(part >= 1 ? [entry(95, 'All documents are copied.', 'good')] : []),
      ...(ends[first.state] ?? []),
      ...failed,
    ],
    entriesDropped: 0,
  };
}

type Inventory = NonNullable<PublishedDetails['inventory']['inventory']>;
type Row = Inventory['rows'][number];

/** What two clusters have besides data: rows of every length and outcome, and of a reverse where one is possible. */
export function stagedInventory(at_ms: number, reverses: boolean): Inventory {
  const row = (kind: Row['kind'], name: string, action: Row['action'], more: Partial<Row> = {}): Row => ({
    kind,
    name,
    source: 'roles readWrite@shop, desk@shop, reader@billing',
    destination: action === 'equal' ? 'roles readWrite@shop, desk@shop, reader@billing' : null,
    action,
    description: 'Nothing: both clusters have it.',
    ...more,
  });
  const byHand = 'It stays behind: start with usersAndRoles in carry, or create them with new passwords.';
  const rows = [
    row('profiler', '', 'notReadable', {
      source: null,
      destination: 'not readable',
      description: 'On cluster1: Each shard has its own, which routers do not show.',
    }),
    row('zones', 'shop.orders', 'equal', { source: '12 ranges of EU, US', destination: '12 ranges of EU, US' }),
    row('balancing', 'analytics.collection_with_a_name_that_is_rather_long', 'carried', {
      source: 'not balanced, chunks of 32 MB, no AutoMerger',
      description: 'The commit carries it.',
    }),
    row('users', 'clerk@shop', 'leftBehind', { description: byHand }),
    row('users', 'auditor@admin', 'differs', {
      destination: 'roles read@shop',
      description: 'The destination has another one of this name, which Convoy never changes: compare both.',
    }),
    row('ownCollections', 'admin.notes', 'leftBehind', {
      source: 'collection',
      description: 'It stays behind: copy them with mongodump and mongorestore.',
    }),
    row('primaries', 'shop', 'own', {
      source: 'rs0',
      destination: 'shard-a',
      description: 'Nothing: each cluster has its own.',
    }),
  ];
  // What the commit has not carried yet, only the destination of a reverse has.
  const kept = { action: 'kept', description: 'Nothing: only the destination has it.' } as const;
  const back = rows.slice(0, 3).map((one) => ({
    ...one,
    source: one.destination,
    destination: one.source,
    ...(one.action === 'carried' && kept),
  }));
  return {
    at_ms,
    source: 'cluster0',
    destination: 'cluster1',
    carry: ['balancing'],
    rows,
    unlisted: 0,
    reverse: reverses ? { rows: back, unlisted: 0 } : null,
  };
}
