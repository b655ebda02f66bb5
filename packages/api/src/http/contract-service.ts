import type { Inventory } from '../contract/inventory.js';
import type { Mismatch, MismatchQuery } from '../contract/mismatch.js';
import type { Progress } from '../contract/progress.js';
import type { StartRequest } from '../contract/start-request.js';

/** An accepted command. */
export interface Acceptance {
  /**
   * The command is recorded for the whole fleet; these instances have not taken it yet and will by themselves. Absent
   * for a command that is not recorded for others.
   */
  readonly waitingFor?: readonly string[];
}

/**
 * The service behind the contract's paths: one instance or a fleet.
 * A command resolves once it is accepted and durably recorded, not once it is carried out. Methods reject with a
 * ConvoyError, which becomes the failure body; anything else becomes `internalError`.
 * A `commandId` says that the command is for the whole fleet; one for this instance alone has none.
 */
export interface ContractService<Report extends Progress = Progress> {
  /** @throws ConvoyError `notInThisState` outside IDLE, `optionsDiffer`, or a start condition of the clusters */
  start(request: StartRequest, commandId?: string): Promise<Acceptance>;
  /** @throws ConvoyError `notInThisState` outside RUNNING */
  pause(commandId?: string): Promise<Acceptance>;
  /** @throws ConvoyError `notInThisState` outside PAUSED */
  resume(commandId?: string): Promise<Acceptance>;
  /**
   * @param awaited_ms how long the sender still waits: later the commit must not be taken
   * @throws ConvoyError `notInThisState` outside RUNNING, `cannotCommit` while `canCommit` is false, `commandTimedOut`
   */
  commit(commandId?: string, awaited_ms?: number): Promise<Acceptance>;
  /** @throws ConvoyError `notInThisState` outside COMMITTED, `notReversible` */
  reverse(commandId?: string): Promise<Acceptance>;
  /** The last known values, without waiting for a cluster. Rejects with the cause once the migration has failed. */
  progress(): Promise<Report>;
  /**
   * What both clusters have besides data, as they are now.
   * @param request the options of a start, as long as none is recorded
   * @throws ConvoyError why the clusters cannot be read
   */
  inventory(request: StartRequest): Promise<Inventory>;
  /** Mismatches that the embedded verifier found, also once the migration has failed. */
  mismatches(query: MismatchQuery): AsyncIterable<Mismatch>;
}
