import type { FaultyFleet } from './faulty-fleet.js';
import type { FaultPhase } from './leader-steps.js';

/**
 * Brings a migration from its start to its commit; in one phase something is done to it.
 * @param fault gets what begins the phase, where it does not begin by itself
 */
export async function reachPhase(
  fleet: FaultyFleet,
  phase: FaultPhase,
  fault: (begin?: () => Promise<void>) => Promise<void>,
): Promise<void> {
  if (phase === 'initialisation') await fault(() => fleet.start());
  else await fleet.start();
  if (phase === 'copy') {
    const copy = await fleet.holdCopy();
    await fault();
    copy.release();
  }
  await fleet.untilReady();
  if (phase === 'ddlChanges' || phase === 'apply') await fault();
  await fleet.untilReady();
  if (phase === 'commit') await fault(() => fleet.requestCommit());
  else await fleet.requestCommit();
}
