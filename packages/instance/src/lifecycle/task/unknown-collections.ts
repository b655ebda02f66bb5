import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ChangeEvent } from '../../store/change-event.js';
import type { TaskRecord } from '../../store/task-record.js';
import { Condition } from '../../store/condition.js';

type UnknownCollection = TaskRecord['unknown'][number];

/** Of one record: it stays far below 16 MB, and the leader makes an entry of each within moments. */
const reportedMax = 1_000;
/** So many new collections at once are no ordinary use. */
const waitingMax = 100_000;

/** Collections that a server fills and renames: aggregations with `$out`, `convertToCapped`, renames across databases. */
const temporaryNames = /^tmp\.(agg_out|mr)\.|^tmp[^.]*\.(convertToCapped|renameCollection)/;

/**
 * Collections of included namespaces that the stream shows changes of and that are not followed. They are told of in the
 * share's record until the journal knows them. The checkpoint does not pass an event of one before that is durable: after
 * a restart nobody would hear of it.
 */
export class UnknownCollections {
  readonly #reported = new Map<string, UnknownCollection>();
  /** Not yet told of, with the time of the first event. */
  readonly #waiting = new Map<string, UnknownCollection & { time: bigint }>();
  readonly #changed = new Condition();

  /**
   * @param reported what the record tells already
   * @param save stores the whole list in the record, durably
   */
  constructor(
    reported: readonly UnknownCollection[],
    private readonly save: (unknown: UnknownCollection[]) => Promise<void>,
  ) {
    for (const one of reported) this.#reported.set(one.uuid, one);
  }

  /** How many are not followed yet. */
  get size(): number {
    return this.#reported.size + this.#waiting.size;
  }

  /** Time of the earliest event of those that are not told of yet. */
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

  /** The journal says what becomes of the collection. */
  resolve(uuid: string): void {
    this.#waiting.delete(uuid);
    this.#reported.delete(uuid);
    this.#changed.changed();
  }

  /** Tells of what is new until the stop signal; several at once are one write. */
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
