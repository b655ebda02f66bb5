import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Acceptance, ContractService } from '@convoy/api/http/contract-service';
import type { FleetDirector } from './fleet-director.js';
import { refuseEmptyFleet } from './refuse-empty-fleet.js';

/** Runs a command by name. */
export type TimedCommand = <Result>(name: CommandName, run: () => Promise<Result>) => Promise<Result>;

/** The contract's operations on a whole fleet. The caller validates the body of `start`. */
export class DirectorService implements ContractService<FleetProgress> {
  /**
   * @param timed runs each command and may measure it
   * @param guide asks the leader, since a coordinator reaches no cluster
   */
  constructor(
    private readonly director: FleetDirector,
    private readonly timed: TimedCommand,
    private readonly guide: { inventory(request: StartRequest): Promise<Inventory> },
  ) {}

  start(request: StartRequest): Promise<Acceptance> {
    return this.#send('start', request);
  }

  pause(): Promise<Acceptance> {
    return this.#send('pause', {});
  }

  resume(): Promise<Acceptance> {
    return this.#send('resume', {});
  }

  commit(): Promise<Acceptance> {
    return this.#send('commit', {});
  }

  reverse(): Promise<Acceptance> {
    return this.#send('reverse', {});
  }

  /** @throws ConvoyError the fleet's failure; `fleetIncomplete` when no instance is known, `redisUnavailable` */
  async progress(): Promise<FleetProgress> {
    const { failure, progress, instances } = await Promise.resolve(this.director.progress());
    if (failure !== null) throw new ConvoyError(failure.error, failure.errorDescription);
    refuseEmptyFleet(instances, this.director.snapshot());
    return progress;
  }

  /** @throws ConvoyError why the leader cannot read the clusters; `commandTimedOut`, `redisUnavailable` */
  inventory(request: StartRequest): Promise<Inventory> {
    return this.guide.inventory(request);
  }

  /**
   * The mismatches in the instances' reports. Each instance reports the first ones of the whole fleet, and serves all
   * of them itself.
   */
  async *mismatches({ kind, namespace, limit }: MismatchQuery): AsyncGenerator<Mismatch> {
    const matching = this.director
      .mismatches()
      .filter((one) => (kind ?? one.kind) === one.kind && (namespace ?? one.namespace) === one.namespace);
    await Promise.resolve();
    yield* matching.slice(0, limit);
  }

  #send(name: CommandName, body: unknown): Promise<Acceptance> {
    return this.timed(name, () => this.director.commandAll(name, body));
  }
}
