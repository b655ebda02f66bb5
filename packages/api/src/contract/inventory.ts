import { z } from 'zod';
import { carriedKinds } from './carry.js';

/** What an inventory lists, in its order: everything of a cluster but data, indexes, options and shard keys. */
export const inventoryKinds = [
  'zones',
  'balancing',
  'users',
  'roles',
  'defaultConcerns',
  'clusterParameters',
  'querySettings',
  'ownCollections',
  'balancer',
  'chunkSize',
  'autoMerger',
  'profiler',
  'primaries',
  'functions',
  'preImages',
  'validators',
] as const;

export type InventoryKind = (typeof inventoryKinds)[number];

/**
 * The outcome of an item. `carried`: the commit takes it along. `migrated`: Convoy always migrates it, with its
 * collection. `equal`: both clusters have it. `kept`: only the destination has it, and keeps it. `leftBehind`: nobody
 * takes it along. `differs`: both have it, in different forms, and each keeps its own. `excluded`: it does not belong
 * to what the filter includes. `own`: each cluster decides for itself. `notReadable`: the user lacks a privilege.
 */
export const inventoryActions = [
  'carried',
  'migrated',
  'equal',
  'kept',
  'leftBehind',
  'differs',
  'excluded',
  'own',
  'notReadable',
] as const;

export type InventoryAction = (typeof inventoryActions)[number];

/** Rows of one inventory; more are counted. */
export const INVENTORY_ROWS_MAX = 2_000;

const sideSchema = z.string().nullable().describe('What the cluster has, in words; null for nothing.');

export const inventoryRowSchema = z.object({
  kind: z.enum(inventoryKinds),
  name: z.string().describe('Its name: a namespace, user, role or setting. Empty for a kind that is not readable.'),
  source: sideSchema,
  destination: sideSchema,
  action: z.enum(inventoryActions),
  description: z.string().describe('What Convoy does about it, and what to do.'),
});

const tableSchema = z.object({
  rows: z.array(inventoryRowSchema).max(INVENTORY_ROWS_MAX),
  unlisted: z.number().nonnegative().describe('Number of items without a row.'),
});

/** Everything in both clusters that is not data, and the outcome of each item. */
export const inventorySchema = tableSchema.extend({
  at_ms: z.number(),
  source: z.string().describe('Name of the cluster that is the source.'),
  destination: z.string(),
  carry: z.array(z.enum(carriedKinds)).describe('The kinds that the commit takes along.'),
  reverse: tableSchema
    .nullable()
    .describe('The same in the other direction, as a reverse would find it; null unless it is possible.'),
});

export type Inventory = z.output<typeof inventorySchema>;
export type InventoryRow = z.output<typeof inventoryRowSchema>;
export type InventoryTable = z.output<typeof tableSchema>;

/** The reply of `GET /api/v1/inventory`. */
export const inventoryReplySchema = z.object({ success: z.literal(true), inventory: inventorySchema });

export type InventoryReply = z.output<typeof inventoryReplySchema>;
