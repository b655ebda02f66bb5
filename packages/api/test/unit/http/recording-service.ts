import { idleProgress } from '@convoy/api/contract/progress';
import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import type { Progress } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import type { ContractService } from '@convoy/api/http/contract-service';

/** A service that records its calls, and fails every one of them while `failure` is set. */
export class RecordingService implements ContractService {
  readonly calls: { command: string; request?: StartRequest }[] = [];
  failure: unknown = undefined;
  report: Progress = idleProgress();

  start(request: StartRequest): Promise<void> {
    return this.#record({ command: 'start', request });
  }

  pause(): Promise<void> {
    return this.#record({ command: 'pause' });
  }

  resume(): Promise<void> {
    return this.#record({ command: 'resume' });
  }

  commit(): Promise<void> {
    return this.#record({ command: 'commit' });
  }

  reverse(): Promise<void> {
    return this.#record({ command: 'reverse' });
  }

  async progress(): Promise<Progress> {
    await this.#record({ command: 'progress' });
    return this.report;
  }

  /** The reply of `mismatches`, and its queries. */
  found: Mismatch[] = [];
  asked: MismatchQuery[] = [];

  async *mismatches(query: MismatchQuery): AsyncGenerator<Mismatch> {
    this.asked.push(query);
    await this.#record({ command: 'mismatches' });
    yield* this.found;
  }

  #record(call: { command: string; request?: StartRequest }): Promise<void> {
    this.calls.push(call);
    if (this.failure === undefined) return Promise.resolve();
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- other services may throw anything
    return Promise.reject(this.failure);
  }
}
