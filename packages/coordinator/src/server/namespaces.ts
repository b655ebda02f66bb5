import type { NamespacePart, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { NamespacesReply, NamespaceView } from '../dashboard/message.js';

/** Maximum rows of one reply. */
export const NAMESPACE_ROWS_MAX = 200;

/** Orders of collections: those being copied first, then by size; or one column. */
export const namespaceOrders = ['activity', 'name', 'size', 'percent', 'documents'] as const;
export type NamespaceOrder = (typeof namespaceOrders)[number];

/** A request for collections. */
export interface NamespacesQuery {
  readonly offset: number;
  readonly limit: number;
  /** Part of a name; empty for all. */
  readonly search: string;
  readonly sort: NamespaceOrder;
}

type Sums = NamespacesReply['others'];

const nothing: Sums = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };

/** The collections of all instances. */
export interface MergedNamespaces {
  readonly rows: readonly NamespaceView[];
  /** Sums of the collections that instances did not list. */
  readonly unnamed: Sums;
}

/**
 * The collections of all instances as one list: those being copied first, then by size. It holds one instance's details
 * at a time.
 */
export async function mergeNamespaces(
  details: AsyncIterable<[id: string, details: PublishedDetails['namespaces']]>,
): Promise<MergedNamespaces> {
  const byName = new Map<string, NamespaceView>();
  let unnamed = nothing;
  for await (const [, { rows, others }] of details) {
    unnamed = { ...addSums(unnamed, others), collections: Math.max(unnamed.collections, others.collections) };
    for (const part of rows) byName.set(part.namespace, addPart(byName.get(part.namespace), part));
  }
  const rows = [...byName.values()].sort(
    (a, b) => activity(b) - activity(a) || b.totalBytes - a.totalBytes || (a.namespace < b.namespace ? -1 : 1),
  );
  return { rows, unnamed };
}

/** One page of collections, and the sums of the rest. */
export function pageOfNamespaces(
  { rows, unnamed }: MergedNamespaces,
  { offset, limit, search, sort }: NamespacesQuery,
): NamespacesReply {
  const wanted = search.toLowerCase();
  const matching = wanted === '' ? rows : rows.filter(({ namespace }) => namespace.toLowerCase().includes(wanted));
  const sorted = inOrder(matching, sort);
  const page = sorted.slice(offset, offset + Math.min(limit, NAMESPACE_ROWS_MAX));
  const rest = [...sorted.slice(0, offset), ...sorted.slice(offset + page.length)];
  const others = rest.reduce(
    (sums, row) => addSums(sums, { ...row, collections: 1 }),
    wanted === '' ? unnamed : nothing,
  );
  return {
    success: true,
    total: rows.length + unnamed.collections,
    matching: matching.length,
    offset,
    rows: page,
    others,
  };
}

/** Names upwards, so that they are found; percent upwards, since the least copied ones hold a commit. */
function inOrder(rows: readonly NamespaceView[], sort: NamespaceOrder): readonly NamespaceView[] {
  const byName = (a: NamespaceView, b: NamespaceView): number => (a.namespace < b.namespace ? -1 : 1);
  const part = ({ copiedBytes, totalBytes }: NamespaceView): number =>
    totalBytes === 0 ? 1 : copiedBytes / totalBytes;
  switch (sort) {
    case 'activity':
      return rows;
    case 'name':
      return rows.toSorted(byName);
    case 'size':
      return rows.toSorted((a, b) => b.totalBytes - a.totalBytes || byName(a, b));
    case 'percent':
      return rows.toSorted((a, b) => part(a) - part(b) || byName(a, b));
    case 'documents':
      return rows.toSorted((a, b) => b.copiedDocuments - a.copiedDocuments || byName(a, b));
  }
}

function activity({ partitions }: NamespacePart): number {
  return partitions.copying + partitions.starting;
}

function addPart(known: NamespaceView | undefined, part: NamespacePart): NamespaceView {
  if (known === undefined) return { ...part, instances: 1 };
  const { waiting, starting, copying, done } = part.partitions;
  return {
    namespace: known.namespace,
    ...(known.destination !== undefined && { destination: known.destination }),
    instances: known.instances + 1,
    totalBytes: known.totalBytes + part.totalBytes,
    copiedBytes: known.copiedBytes + part.copiedBytes,
    copiedDocuments: known.copiedDocuments + part.copiedDocuments,
    partitions: {
      waiting: known.partitions.waiting + waiting,
      starting: known.partitions.starting + starting,
      copying: known.partitions.copying + copying,
      done: known.partitions.done + done,
    },
    ...copyOrdersOf(known, part),
  };
}

/** Each order with its reason once: the shards of a collection may differ. */
function copyOrdersOf(known: NamespaceView, part: NamespacePart): Pick<NamespacePart, 'copyOrders'> {
  const all = [...(known.copyOrders ?? []), ...(part.copyOrders ?? [])];
  const byReason = new Map(all.map((one) => [one.description, one]));
  return byReason.size === 0 ? {} : { copyOrders: [...byReason.values()] };
}

/** The sums of both. */
export function addSums(left: Sums, right: Sums): Sums {
  return {
    collections: left.collections + right.collections,
    totalBytes: left.totalBytes + right.totalBytes,
    copiedBytes: left.copiedBytes + right.copiedBytes,
    copiedDocuments: left.copiedDocuments + right.copiedDocuments,
  };
}
