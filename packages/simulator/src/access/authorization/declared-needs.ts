import { clusterNeeds } from './cluster-needs.js';
import { dataNeeds } from './data-needs.js';
import type { Declaration } from './need.js';
import { userNeeds } from './user-needs.js';

/** The needs of every command, by its name. */
export const declaredNeeds: ReadonlyMap<string, Declaration> = new Map([...dataNeeds, ...clusterNeeds, ...userNeeds]);
