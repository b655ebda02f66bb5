import { ConvoyError } from '@convoy/api/errors/convoy-error';

/**
 * @param instances the registered or expected ones
 * @throws ConvoyError `fleetIncomplete` when there are none
 */
export function refuseEmptyFleet(instances: readonly unknown[]): void {
  if (instances.length > 0) return;
  throw new ConvoyError('fleetIncomplete', 'No instance of the fleet is registered. Start the instances first.');
}
