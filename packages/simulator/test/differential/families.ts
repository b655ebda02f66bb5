import type { Family } from './case.js';
import { expressions, groups, stages } from './family/aggregations.js';
import { ddl } from './family/ddl.js';
import { privileges } from './family/privileges.js';
import { filters, projections, sorts } from './family/queries.js';
import { reads } from './family/reads.js';
import { sessions } from './family/sessions.js';
import { sharding } from './family/sharding.js';
import { streams } from './family/streams.js';
import { pipelineUpdates, updates, writes } from './family/writes.js';

/** All families, those that the engine uses first. */
export const families: readonly Family[] = [
  reads,
  writes,
  updates,
  pipelineUpdates,
  streams,
  ddl,
  sharding,
  sessions,
  privileges,
  filters,
  projections,
  sorts,
  groups,
  stages,
  expressions,
];
