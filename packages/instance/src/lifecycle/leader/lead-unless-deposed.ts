import { isConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';

/**
 * Interval at which a process that is not the leader checks whether it is now; changes of the fleet wake it as well.
 */
export const leadershipInterval_ms = 500;

/**
 * Does a leader's work under a new epoch. A failure of a leader that another one has replaced fails nobody: its
 * successor does the work.
 * @param work gets the epoch
 * @returns whether the work is done: false, after an interval, once another instance leads
 * @throws what the work of the present leader throws
 */
export async function leadUnlessDeposed(
  { runtime, records }: MigrationDependencies,
  work: (leaderEpoch: number) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const leaderEpoch = await records.takeLeaderEpoch(signal);
    await work(leaderEpoch).catch(async (error: unknown) => {
      if (!signal.aborted && !isConvoyError(error, 'staleEpoch')) await records.confirmLeader(leaderEpoch, signal);
      throw error;
    });
    return true;
  } catch (error) {
    if (!isConvoyError(error, 'staleEpoch')) throw error;
    runtime.logger.info({ event: 'leadershipLost' }, 'another instance leads');
    await runtime.clock.sleep(leadershipInterval_ms, signal);
    return false;
  }
}
