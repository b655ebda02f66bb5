import { MongoNetworkError, MongoServerError } from 'mongodb';
import type { RawBatch, RawCursor } from '../../../src/cluster/node-client.js';
import { type Scheduler, untilAborted } from './scheduler.js';

/** How often calls fail, from 0 to 1. */
export interface Faults {
  /** The call or its answer is lost. */
  network: number;
  /** A reading time has become too old. */
  snapshotTooOld: number;
  cursorLost: number;
}

export function serverError(code: number): MongoServerError {
  return new MongoServerError({ ok: 0, code, errmsg: `code ${code}` });
}

/** What a batch says besides its documents. */
export type About = (batch: readonly Uint8Array[]) => Partial<RawBatch>;

/** The way of one process to the model's servers: calls and answers arrive when the scheduler says so. */
export class Network {
  constructor(
    readonly scheduler: Scheduler,
    readonly faults: Faults,
  ) {}

  /** Carries out `effect` when the call arrives, even when its caller has given up by then. */
  call<T>(signal: AbortSignal, effect: () => T): Promise<T> {
    const { scheduler, faults } = this;
    return untilAborted<T>(signal, (resolve, reject) => {
      scheduler.enqueue(() => {
        const lost = scheduler.chance(faults.network) ? new MongoNetworkError('lost') : null;
        if (lost !== null && scheduler.chance(0.5)) {
          scheduler.enqueue(() => reject(lost));
          return;
        }
        try {
          const result = effect();
          scheduler.enqueue(() => (lost === null ? resolve(result) : reject(lost)));
        } catch (error) {
          scheduler.enqueue(() => reject(error as Error));
        }
      });
    });
  }

  /** A cursor over documents, in batches of any size. */
  async cursor(signal: AbortSignal, find: () => { documents: Uint8Array[]; about: About }): Promise<RawCursor> {
    const found = await this.call(signal, find);
    return new ModelCursor(this, found.documents, found.about);
  }
}

export function batchOf(documents: Uint8Array[], about: Partial<RawBatch>): RawBatch {
  return { documents, bytes: documents.reduce((sum, { length }) => sum + length, 0), ...about };
}

class ModelCursor implements RawCursor {
  readonly first: RawBatch;

  constructor(
    private readonly network: Network,
    private readonly rest: Uint8Array[],
    private readonly about: About,
  ) {
    this.first = this.#take();
  }

  get open(): boolean {
    return this.rest.length > 0;
  }

  next({ signal }: { signal: AbortSignal }): Promise<RawBatch> {
    return this.network.call(signal, () => {
      const { scheduler, faults } = this.network;
      if (scheduler.chance(faults.cursorLost)) throw serverError(43);
      if (scheduler.chance(faults.snapshotTooOld)) throw serverError(239);
      return this.#take();
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #take(): RawBatch {
    const batch = this.rest.splice(0, this.network.scheduler.between(1, 3));
    return batchOf(batch, this.about(batch));
  }
}
