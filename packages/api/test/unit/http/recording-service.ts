import type { Inventory } from '../../../src/contract/inventory.js';
import type { Mismatch, MismatchQuery } from '../../../src/contract/mismatch.js';
import { idleProgress, type Progress } from '../../../src/contract/progress.js';
import type { StartRequest } from '../../../src/contract/start-request.js';
import type { Acceptance, ContractService } from '../../../src/http/contract-routes.js';

/** A service that records its calls, and fails every one of them while `failure` is set. */
export class RecordingService implements ContractService {
  readonly calls: { command: string; request?: StartRequest }[] = [];
  failure: unknown = undefined;
  acceptance: Acceptance = {};
  report: Progress = idleProgress();

  start(request: StartRequest): Promise<Acceptance> {
    return this.#record({ command: 'start', request });
  }

  pause(): Promise<Acceptance> {
    return this.#record({ command: 'pause' });
  }

  resume(): Promise<Acceptance> {
    return this.#record({ command: 'resume' });
  }

  commit(): Promise<Acceptance> {
    return this.#record({ command: 'commit' });
  }

  reverse(): Promise<Acceptance> {
    return this.#record({ command: 'reverse' });
  }

  async progress(): Promise<Progress> {
    await this.#record({ command: 'progress' });
    return this.report;
  }

  /** The reply of `inventory`. */
  inventoried: Inventory = {
    at_ms: 0,
    source: 'cluster0',
    destination: 'cluster1',
    carry: [],
    rows: [],
    unlisted: 0,
    reverse: null,
  };

  async inventory(request: StartRequest): Promise<Inventory> {
    await this.#record({ command: 'inventory', request });
    return this.inventoried;
  }

  /** The reply of `mismatches`, and its queries. */
  found: Mismatch[] = [];
  asked: MismatchQuery[] = [];

  async *mismatches(query: MismatchQuery): AsyncGenerator<Mismatch> {
    this.asked.push(query);
    await this.#record({ command: 'mismatches' });
    yield* this.found;
  }

  #record(call: { command: string; request?: StartRequest }): Promise<Acceptance> {
    this.calls.push(call);
    if (this.failure === undefined) return Promise.resolve(this.acceptance);
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- other services may throw anything
    return Promise.reject(this.failure);
  }
}
