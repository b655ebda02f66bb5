import { setTimeout as delay } from 'node:timers/promises';
import type { AnyBulkWriteOperation, Document, MongoClient } from 'mongodb';
import { measurement, type Measurement } from './dataset.js';
import { Random } from './random.js';

/** Operations per bulk command of the workload. */
const bulkOperations = 50;

/** The workload's operations so far. */
export interface WorkloadCounts {
  inserts: number;
  updates: number;
  replacements: number;
  deletes: number;
}

export interface WorkloadOptions {
  client: MongoClient;
  /** Initial number of measurements, with `_id` from 0. */
  measurements: number;
  operationsPerSecond: number;
  seed: number;
}

type Operation = AnyBulkWriteOperation<Measurement>;

/** Writes to the demo's collections at a steady rate until stopped. */
export class Workload {
  readonly counts: WorkloadCounts = { inserts: 0, updates: 0, replacements: 0, deletes: 0 };
  private readonly stopping = new AbortController();
  private readonly random: Random;
  private nextId: number;
  /** Settles when it has stopped, with the failure that ended it if one did. */
  readonly ended: Promise<void>;

  private constructor(private readonly options: WorkloadOptions) {
    this.random = new Random(options.seed);
    this.nextId = options.measurements;
    this.ended = this.run();
    // `stop` rethrows the failure; until then it must not count as unhandled.
    this.ended.catch(() => undefined);
  }

  static start(options: WorkloadOptions): Workload {
    return new Workload(options);
  }

  /** Lets it write for a while. @throws the failure that ends it meanwhile */
  async goOn(ms: number): Promise<void> {
    await Promise.race([delay(ms, undefined, { ref: false }), this.ended]);
  }

  /**
   * Stops after every sent write has its reply.
   * @throws the failure that ended it before, unless this call did
   */
  async stop(): Promise<WorkloadCounts> {
    this.stopping.abort();
    await this.ended;
    return this.counts;
  }

  private async run(): Promise<void> {
    const measurements = this.options.client.db('climate').collection<Measurement>('measurements');
    const changes = this.options.client.db('geo').collection('changes');
    const begin = performance.now();
    for (let bulks = 0; !this.stopping.signal.aborted; bulks += 1) {
      await this.waitUntil(begin + (bulks * bulkOperations * 1000) / this.options.operationsPerSecond);
      await measurements.bulkWrite(
        Array.from({ length: bulkOperations }, () => this.operation()),
        { ordered: false },
      );
      await changes.insertOne({ at: new Date(), what: 'workload', batch: bulks });
      this.counts.inserts += 1;
    }
  }

  private async waitUntil(time: number): Promise<void> {
    const rest = time - performance.now();
    if (rest > 0) await delay(rest, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }

  /** Inserts, updates of several kinds, replacements and deletes of random documents, some of which no longer exist. */
  private operation(): Operation {
    const id = this.random.below(this.nextId);
    const dice = this.random.next();
    if (dice < 0.3) return this.insertOne();
    if (dice < 0.75) return this.updateOne(id);
    if (dice < 0.9) return this.replaceOne(id);
    this.counts.deletes += 1;
    return { deleteOne: { filter: { _id: id } } };
  }

  private insertOne(): Operation {
    this.counts.inserts += 1;
    const document = measurement(this.nextId);
    this.nextId += 1;
    return { insertOne: { document } };
  }

  private updateOne(id: number): Operation {
    this.counts.updates += 1;
    const update = this.random.pick<Document>([
      { $inc: { revision: 1 } },
      { $set: { 'months.3.rain_mm': this.random.below(200) }, $inc: { revision: 1 } },
      { $push: { notes: { $each: [`checked ${this.random.below(1000)}`], $slice: -3 } } },
      { $unset: { notes: '' }, $set: { source: 'recomputed' } },
    ]);
    return { updateOne: { filter: { _id: id }, update } };
  }

  private replaceOne(id: number): Operation {
    this.counts.replacements += 1;
    const replacement: Measurement = { ...measurement(id), revision: this.random.below(100), replaced: true };
    return { replaceOne: { filter: { _id: id }, replacement, upsert: true } };
  }
}
