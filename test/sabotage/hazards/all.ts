import type { Hazard } from '../hazard.js';
import { commitHazards } from './commit.js';
import { copyHazards } from './copy.js';
import { ddlHazards } from './ddl.js';
import { limitHazards } from './limits.js';
import { orderHazards } from './order.js';
import { processHazards } from './processes.js';
import { shardingHazards } from './sharding.js';
import { streamHazards } from './stream.js';
import { updateHazards } from './updates.js';

/** All hazards in the order of their numbers. */
export const hazards: readonly Hazard[] = [
  ...streamHazards,
  ...orderHazards,
  ...updateHazards,
  ...limitHazards,
  ...copyHazards,
  ...ddlHazards,
  ...shardingHazards,
  ...processHazards,
  ...commitHazards,
].sort((a, b) => a.number - b.number);
