import type { InventoryKind } from '@convoy/api/contract/inventory';
import type { Document } from 'mongodb';
import type { ClusterClient } from '../cluster/node-client.js';

/** To what of a cluster an item belongs: a filter carries only what belongs to the namespaces that it includes. */
export type Scope =
  | { readonly of: 'cluster' }
  /** All of the databases; none for one that gives access to nothing. */
  | { readonly of: 'databases'; readonly databases: readonly string[] }
  | { readonly of: 'namespaces'; readonly namespaces: readonly string[] };

export const clusterScope: Scope = { of: 'cluster' };

/** A range of a shard key and its zone; bounds are the bytes of BSON documents. */
export interface ZoneRange {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
  readonly zone: string;
}

/** What a command needs to make an item on another cluster. */
export type Payload =
  | { readonly type: 'zone'; readonly zone: string; readonly shards: readonly string[] }
  | { readonly type: 'ranges'; readonly namespace: string; readonly ranges: readonly ZoneRange[] }
  | {
      readonly type: 'balancing';
      readonly namespace: string;
      readonly noBalance: boolean;
      /** Null for the size of the cluster. */
      readonly chunkSize_MB: number | null;
      readonly autoMerger: boolean;
    }
  /** `document`: the bytes of the user as it is stored, with its credentials. */
  | { readonly type: 'user'; readonly document: Uint8Array }
  | { readonly type: 'role'; readonly document: Document }
  | { readonly type: 'defaultConcern'; readonly set: Document }
  | { readonly type: 'clusterParameter'; readonly parameter: string; readonly value: Document }
  /** Bytes of documents: a comment in settings may be of any type. */
  | { readonly type: 'querySettings'; readonly query: Uint8Array; readonly settings: Uint8Array };

/** One thing of a cluster that is not data, an index, an option or a shard key. */
export interface Item {
  readonly kind: InventoryKind;
  /** Unique within its kind. */
  readonly name: string;
  readonly scope: Scope;
  /** For people: counts and names, no values of documents and no secrets. */
  readonly shown: string;
  /** Equal for items that mean the same. */
  readonly content: string;
  /** Null for what is never carried. */
  readonly payload: Payload | null;
}

/** An item of the same text for people and for comparison, that is never carried. */
export function listedItem(kind: InventoryKind, name: string, shown: string, scope: Scope = clusterScope): Item {
  return { kind, name, scope, shown, content: shown, payload: null };
}

/** A logged-in user by name and database. */
export interface Login {
  readonly user: string;
  readonly db: string;
}

/** Everything that one cluster has besides data. */
export interface ClusterInventory {
  readonly cluster: string;
  readonly topology: 'sharded' | 'replicaSet';
  readonly version: ClusterClient['version'];
  readonly shardIds: readonly string[];
  readonly items: readonly Item[];
  /** Why a kind could not be read, in words that name the missing privilege. */
  readonly unreadable: ReadonlyMap<InventoryKind, string>;
  /** The cluster parameters that its release has. */
  readonly parameters: ReadonlySet<string>;
  /** The users of Convoy's own connections. */
  readonly logins: readonly Login[];
}
