import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ContractService } from '@convoy/api/http/contract-service';
import type { FleetDirector } from './fleet-director.js';

/** The contract's operations on a whole fleet. A body of `start` is validated before it gets here. */
export class DirectorService implements ContractService<FleetProgress> {
  readonly #director: FleetDirector;

  constructor(director: FleetDirector) {
    this.#director = director;
  }

  start(request: StartRequest): Promise<void> {
    return this.#director.commandAll('start', request);
  }

  pause(): Promise<void> {
    return this.#director.commandAll('pause', {});
  }

  resume(): Promise<void> {
    return this.#director.commandAll('resume', {});
  }

  commit(): Promise<void> {
    return this.#director.commandAll('commit', {});
  }

  reverse(): Promise<void> {
    return this.#director.commandAll('reverse', {});
  }

  /** @throws ConvoyError the fleet's failure, or `fleetIncomplete` when no instance was ever heard of */
  progress(): Promise<FleetProgress> {
    const { failure, progress, instances } = this.#director.progress();
    if (failure !== null) return Promise.reject(new ConvoyError(failure.error, failure.errorDescription));
    if (instances.length === 0) {
      return Promise.reject(new ConvoyError('fleetIncomplete', 'No instance of the fleet is registered; start the instances first.'));
    }
    return Promise.resolve(progress);
  }
}
