import {
  INVENTORY_ROWS_MAX,
  type InventoryAction,
  type InventoryKind,
  inventoryKinds,
  type InventoryRow,
  type InventoryTable,
} from '@convoy/api/contract/inventory';
import { nameSome } from '../catalog/name-some.js';
import { carriedBy, type CarryChoice, isOwnLogin, obstacleTo } from './carry-choice.js';
import type { ClusterInventory, Item, Payload } from './item.js';

/** Both sides of a name, and its outcome. */
interface Compared {
  readonly kind: InventoryKind;
  readonly name: string;
  /** As the source has it, under its names on the destination. */
  readonly source: Item | null;
  readonly destination: Item | null;
  readonly action: InventoryAction;
  /** Why the destination could not have it; null if nothing is known against it. */
  readonly obstacle: string | null;
}

/** Kinds that Convoy always migrates, with their collections. */
const migratedKinds: ReadonlySet<InventoryKind> = new Set(['functions', 'preImages', 'validators']);
/** Kinds of which each cluster has its own: nothing is missing when they differ. */
const ownKinds: ReadonlySet<InventoryKind> = new Set(['primaries']);
/** Kinds of which what exists on the destination is never changed. */
const untouchedKinds: ReadonlySet<InventoryKind> = new Set(['users', 'roles']);

/** Every item of both clusters with its outcome, in the order of the kinds. */
export function compareInventories(
  source: ClusterInventory,
  destination: ClusterInventory,
  choice: CarryChoice,
): Compared[] {
  const logins = [...source.logins, ...destination.logins];
  const sides = [source, destination].map(({ items }) => items.filter((item) => !isOwnLogin(item, logins)));
  const [here = [], there = []] = sides;
  const found = new Map(there.map((item) => [keyOf(item), item]));
  const rows = here.map((item): Compared => {
    const wanted = choice.onDestination(item);
    const key = keyOf(wanted);
    const present = found.get(key) ?? null;
    found.delete(key);
    const obstacle = obstacleTo(wanted, destination);
    const isPossible = wanted.payload !== null && obstacle === null;
    const action = actionOf(wanted, present, choice, { isIncluded: choice.includes(item.scope), isPossible });
    return { kind: item.kind, name: wanted.name, source: wanted, destination: present, action, obstacle };
  });
  for (const item of found.values()) {
    const { kind, name } = item;
    rows.push({ kind, name, source: null, destination: item, action: keptAction(item), obstacle: null });
  }
  return rows.sort(byKindAndName);
}

function keyOf({ kind, name }: Item): string {
  return `${kind} ${name}`;
}

function keptAction({ kind, name }: Item): InventoryAction {
  return isOwn(kind, name) ? 'own' : 'kept';
}

/** The commit leaves each cluster's balancer as it was. */
function isOwn(kind: InventoryKind, name: string): boolean {
  return ownKinds.has(kind) || (kind === 'balancer' && name === 'mode');
}

function actionOf(
  { kind, name, content }: Item,
  present: Item | null,
  choice: CarryChoice,
  { isIncluded, isPossible }: { isIncluded: boolean; isPossible: boolean },
): InventoryAction {
  if (isOwn(kind, name)) return 'own';
  if (present !== null && isMet(content, present)) return 'equal';
  if (!isIncluded) return 'excluded';
  if (migratedKinds.has(kind)) return 'migrated';
  if (present !== null && untouchedKinds.has(kind)) return 'differs';
  if (choice.carries(kind) && isPossible) return 'carried';
  return present === null ? 'leftBehind' : 'differs';
}

/** A zone never leaves a shard, so the destination's may have more of them. */
function isMet(content: string, present: Item): boolean {
  if (present.payload?.type !== 'zone') return present.content === content;
  const there = new Set(present.payload.shards);
  return content.split(',').every((shard) => there.has(shard));
}

function byKindAndName(a: Compared, b: Compared): number {
  const kinds = inventoryKinds.indexOf(a.kind) - inventoryKinds.indexOf(b.kind);
  return kinds !== 0 ? kinds : a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/**
 * What the commit takes along, as it will be on the destination. Roles come before users and after those that they
 * inherit, zones before ranges.
 */
export function itemsToCarry(rows: readonly Compared[]): Item[] {
  const items = rows.flatMap(({ action, source }) => (action === 'carried' && source !== null ? [source] : []));
  const rank = ({ payload }: Item): number => carryOrder.indexOf(payload?.type ?? 'zone');
  const others = items.filter(({ kind }) => kind !== 'roles').sort((a, b) => rank(a) - rank(b));
  return [...inInheritedOrder(items.filter(({ kind }) => kind === 'roles')), ...others];
}

const carryOrder: readonly Payload['type'][] = [
  'role',
  'user',
  'zone',
  'ranges',
  'balancing',
  'defaultConcern',
  'clusterParameter',
  'querySettings',
];

/** Roles that inherit each other cannot exist, so each round finds one whose roles are all made or not to be made. */
function inInheritedOrder(roles: readonly Item[]): Item[] {
  const left = new Map(roles.map((item) => [item.name, item]));
  const ordered: Item[] = [];
  while (left.size > 0) {
    const next =
      [...left.values()].find((item) => inheritedBy(item).every((name) => !left.has(name))) ?? [...left.values()][0];
    if (next === undefined) break;
    left.delete(next.name);
    ordered.push(next);
  }
  return ordered;
}

function inheritedBy({ payload }: Item): string[] {
  if (payload?.type !== 'role') return [];
  const { roles = [] } = payload.document as { roles?: { role: string; db: string }[] };
  return roles.map(({ role, db }) => `${role}@${db}`);
}

/** The table for people, of bounded length. */
export function tableOf(
  rows: readonly Compared[],
  source: ClusterInventory,
  destination: ClusterInventory,
  choice: CarryChoice,
): InventoryTable {
  const all = [
    ...inventoryKinds.flatMap((kind) => unreadableRow(kind, source, destination)),
    ...rows.map((row): InventoryRow => {
      const { kind, name, action } = row;
      const [here, there] = [row.source?.shown ?? null, row.destination?.shown ?? null];
      return { kind, name, source: here, destination: there, action, description: describe(row, choice) };
    }),
  ];
  return { rows: all.slice(0, INVENTORY_ROWS_MAX), unlisted: Math.max(0, all.length - INVENTORY_ROWS_MAX) };
}

function unreadableRow(kind: InventoryKind, source: ClusterInventory, destination: ClusterInventory): InventoryRow[] {
  const [here, there] = [source.unreadable.get(kind), destination.unreadable.get(kind)];
  if (here === undefined && there === undefined) return [];
  const described = [
    ...(here === undefined ? [] : [`On ${source.cluster}: ${here}`]),
    ...(there === undefined ? [] : [`On ${destination.cluster}: ${there}`]),
  ];
  const cell = (reason: string | undefined): string | null => (reason === undefined ? null : 'not readable');
  return [
    {
      kind,
      name: '',
      source: cell(here),
      destination: cell(there),
      action: 'notReadable',
      description: described.join(' '),
    },
  ];
}

/** What to do about items that stay behind, by their kind. */
const byHand: Record<InventoryKind, string> = {
  zones: 'set them with sh.addShardToZone and sh.updateZoneKeyRange',
  balancing: 'set it with configureCollectionBalancing and sh.disableBalancing',
  users: 'create them with new passwords',
  roles: 'create them with createRole',
  defaultConcerns: 'set them with setDefaultRWConcern',
  clusterParameters: 'set them with setClusterParameter',
  querySettings: 'set them with setQuerySettings',
  ownCollections: 'copy them with mongodump and mongorestore',
  balancer: "set it in the destination's config.settings",
  chunkSize: "set it in the destination's config.settings",
  autoMerger: 'turn it off with sh.stopAutoMerger()',
  profiler: 'turn it on with the command profile on each server',
  primaries: 'move them with movePrimary',
  functions: 'copy them by hand',
  preImages: 'set them with collMod',
  validators: 'set them with collMod',
};

function describe({ kind, action, source, obstacle }: Compared, choice: CarryChoice): string {
  const by = carriedBy[kind];
  const others = by !== undefined && !choice.kinds.has(by) ? `start with ${by} in carry, or ` : '';
  switch (action) {
    case 'carried':
      return 'The commit carries it.';
    case 'migrated':
      return 'Convoy migrates it with its collection.';
    case 'equal':
      return 'Nothing: both clusters have it.';
    case 'kept':
      return 'Nothing: only the destination has it.';
    case 'own':
      return 'Nothing: each cluster has its own.';
    case 'excluded':
      return 'Nothing: it does not belong to what the filter includes.';
    case 'leftBehind':
      if (obstacle !== null) return `It stays behind: ${obstacle}.`;
      return source?.payload === null && by !== undefined
        ? 'It stays behind: the source does not show what is needed to set it again.'
        : `It stays behind: ${others}${byHand[kind]}.`;
    case 'differs':
      return kind === 'users' || kind === 'roles'
        ? 'The destination has another one of this name, which Convoy never changes: compare both.'
        : `The destination has another value: ${obstacle ?? `${others}${byHand[kind]}`}.`;
    case 'notReadable':
      return '';
  }
}

/** Names for an operator before a commit: of what stays behind, and of what differs although it is to be carried. */
export function leftBehind(rows: readonly Compared[], choice: CarryChoice): string[] {
  return rows.flatMap(({ kind, name, action, source }) => {
    if (source === null) return [];
    const isAsked = action === 'differs' && choice.carries(kind);
    return action === 'leftBehind' || isAsked ? [`${kind} ${name}`] : [];
  });
}

/** Name of the warning about what a commit would leave behind. */
export const leftBehindWarning = 'leftBehind';

/** Items that one warning names. */
const namedMax = 20;

/** @param left kinds and names */
export function describeLeftBehind(left: readonly string[]): string {
  return (
    `A commit leaves behind on the source: ${nameSome(left, namedMax)}. GET /api/v1/inventory and convoy check list ` +
    'everything with what to do; the start option carry takes most of it along.'
  );
}
