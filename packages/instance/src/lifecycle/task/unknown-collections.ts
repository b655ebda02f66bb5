import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ChangeEvent } from '../../store/change-event.js';
import type { TaskRecord } from '../../store/task-record.js';
import { Condition } from '../../async/waiting.js';

type UnknownCollection = TaskRecord['unknown'][number];

/** Bound within one record, which stays far below 16 MB; the leader makes an entry of each within moments. */
const reportedMax = 1_000;
/** More new collections at once are not an ordinary use. */
const waitingMax = 100_000;

/**
 * Collections that a server fills and renames: aggregations with `$out`, `convertToCapped`, renames across databases.
 */
const temporaryNames = /^tmp\.(agg_out|mr)\.|^tmp[^.]*\.(convertToCapped|renameCollection)/;

/**
 * Collections of included namespaces that the stream shows and nobody follows yet. The task's record names them until
 * the journal has them. Only once that is durable does the checkpoint pass an event of one: after a restart the stream
 * would not show it again.
 */
export class UnknownCollections {
  readonly #reported = new Map<string, UnknownCollection>();
  /** Not reported yet, with the time of the first event. */
  readonly #waiting = new Map<string, UnknownCollection & { time: bigint }>();
  readonly #changed = new Condition();

  /**
   * @param reported the names already in the record
   * @param save stores the whole list in the record, durably
   */
  constructor(
    reported: readonly UnknownCollection[],
    private readonly save: (unknown: UnknownCollection[]) => Promise<void>,
  ) {
    for (const one of reported) this.#reported.set(one.uuid, one);
  }

  /** Number of collections that are not followed yet. */
  get size(): number {
    return this.#reported.size + this.#waiting.size;
  }

  /** Time of the earliest event of an unreported collection. */
  get oldestWaiting(): bigint | null {
    for (const { time } of this.#waiting.values()) return time;
    return null;
  }

  /** @throws ConvoyError `memoryBoundExceeded` when there are too many */
  saw(database: string, name: string, { uuid, time }: ChangeEvent): void {
    if (this.#reported.has(uuid) || this.#waiting.has(uuid) || temporaryNames.test(name)) return;
    if (this.#waiting.size >= waitingMax)
      throw new ConvoyError(
        'memoryBoundExceeded',
        `More than ${waitingMax} collections were created on the source at once.`,
      );
    this.#waiting.set(uuid, { uuid, database, name, time });
    this.#changed.changed();
  }

  /** The journal now has the collection. */
  resolve(uuid: string): void {
    this.#waiting.delete(uuid);
    this.#reported.delete(uuid);
    this.#changed.changed();
  }

  /** Reports new collections until the stop signal; several at once are one write. */
  async run(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.#changed.until(() => this.#waiting.size > 0 && this.#reported.size < reportedMax, stop);
      const announced = [...this.#waiting.values()].slice(0, reportedMax - this.#reported.size);
      for (const { uuid, database, name } of announced) this.#reported.set(uuid, { uuid, database, name });
      await this.save([...this.#reported.values()]);
      for (const { uuid } of announced) this.#waiting.delete(uuid);
    }
  }
}
