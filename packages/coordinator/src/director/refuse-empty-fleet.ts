import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { FleetSnapshot } from '../progress/members.js';
import { causeOf } from '../progress/warnings.js';

/**
 * @param instances the registered or expected ones
 * @param redis whether this process hears of instances, and why not
 * @throws ConvoyError `fleetIncomplete` when there are none, `redisUnavailable` when none can be heard
 */
export function refuseEmptyFleet(
  instances: readonly unknown[],
  redis: Pick<FleetSnapshot, 'isConnected' | 'whyDisconnected'>,
): void {
  if (instances.length > 0) return;
  if (!redis.isConnected)
    throw new ConvoyError('redisUnavailable', `Redis is unreachable, so no instance can be seen.${causeOf(redis)}`);
  throw new ConvoyError('fleetIncomplete', 'No instance of the fleet is registered. Start the instances first.');
}
