import type { Clock } from '../../async/clock.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';

/** The record of a task, which its owner changes under its epoch; every change confirms the ownership. */
export class OwnedRecord {
  #confirmed_ms: number;

  constructor(
    private readonly records: TaskRecords,
    private readonly task: TaskRecord,
    private readonly clock: Clock,
    private readonly hard: AbortSignal,
  ) {
    this.#confirmed_ms = clock.monotonic_ms();
  }

  /** Milliseconds since the ownership was last confirmed. */
  get unconfirmed_ms(): number {
    return this.clock.monotonic_ms() - this.#confirmed_ms;
  }

  /** @throws ConvoyError `staleEpoch` when another process owns the task */
  async update(fields: Partial<TaskRecord>): Promise<void> {
    const asked_ms = this.clock.monotonic_ms();
    await this.records.update(this.task._id, this.task.epoch, fields, this.hard);
    this.#confirmed_ms = asked_ms;
  }
}
