import type { Mismatch, MismatchQuery } from '../contract/mismatch.js';
import type { Progress } from '../contract/progress.js';
import type { StartRequest } from '../contract/start-request.js';

/**
 * The service behind the contract's paths: one instance or a fleet.
 * A command resolves once it is accepted and durably recorded, not once it is carried out. Methods reject with a
 * ConvoyError, which becomes the failure body; anything else becomes `internalError`.
 */
export interface ContractService<Report extends Progress = Progress> {
  /** @throws ConvoyError `notInThisState` outside IDLE, `optionsDiffer`, or a start condition of the clusters */
  start(request: StartRequest): Promise<void>;
  /** @throws ConvoyError `notInThisState` outside RUNNING */
  pause(): Promise<void>;
  /** @throws ConvoyError `notInThisState` outside PAUSED */
  resume(): Promise<void>;
  /** @throws ConvoyError `notInThisState` outside RUNNING, `cannotCommit` while `canCommit` is false */
  commit(): Promise<void>;
  /** @throws ConvoyError `notInThisState` outside COMMITTED, `notReversible` */
  reverse(): Promise<void>;
  /** The last known values, without waiting for a cluster. Rejects with the cause once the migration has failed. */
  progress(): Promise<Report>;
  /** Mismatches that the embedded verifier found, also once the migration has failed. */
  mismatches(query: MismatchQuery): AsyncIterable<Mismatch>;
}
