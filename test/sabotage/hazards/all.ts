import type { Hazard } from '../hazard.js';
import { beforehandHazards } from './beforehand.js';
import { checkpointHazards } from './checkpoints.js';
import { commitHazards } from './commit.js';
import { concernHazards } from './concerns.js';
import { conditionHazards } from './conditions.js';
import { copyHazards } from './copy.js';
import { ddlHazards } from './ddl.js';
import { definitionHazards } from './definitions.js';
import { diffHazards } from './diffs.js';
import { failureHazards } from './failures.js';
import { filterHazards } from './filters.js';
import { indexHazards } from './indexes.js';
import { inventoryHazards } from './inventory.js';
import { keyHazards } from './keys.js';
import { limitHazards } from './limits.js';
import { messageHazards } from './messages.js';
import { orderHazards } from './order.js';
import { otherNameHazards } from './other-names.js';
import { ownerHazards } from './owners.js';
import { recordOrderHazards } from './record-order.js';
import { retryHazards } from './retries.js';
import { reverseHazards } from './reverse.js';
import { shardingHazards } from './sharding.js';
import { streamHazards } from './stream.js';
import { topologyHazards } from './topology.js';
import { updateHazards } from './updates.js';
import { waitHazards } from './waits.js';

/** All hazards in the order of their numbers. */
export const hazards: readonly Hazard[] = [
  ...beforehandHazards,
  ...checkpointHazards,
  ...commitHazards,
  ...concernHazards,
  ...conditionHazards,
  ...copyHazards,
  ...ddlHazards,
  ...definitionHazards,
  ...diffHazards,
  ...failureHazards,
  ...filterHazards,
  ...indexHazards,
  ...inventoryHazards,
  ...keyHazards,
  ...limitHazards,
  ...messageHazards,
  ...orderHazards,
  ...otherNameHazards,
  ...ownerHazards,
  ...recordOrderHazards,
  ...retryHazards,
  ...reverseHazards,
  ...shardingHazards,
  ...streamHazards,
  ...topologyHazards,
  ...updateHazards,
  ...waitHazards,
].sort((a, b) => a.number - b.number);
