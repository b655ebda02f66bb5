import { highestTime, noteEachShard, operationTimes, wakeStreams } from '../../cluster/cluster-time.js';
import type { CallOptions, ClusterClient } from '../../cluster/node-client.js';

/**
 * Advances the streams of idle shards. A stream of the whole cluster is as far as its slowest shard. An idle shard
 * advances only with the server's periodic no-op writes, every 10 s by default. The waker writes nothing where nothing
 * is new.
 */
export class ShardWaker {
  /** The time of this waker's last note on each shard: a shard that is still at it has nothing new. */
  #noted: ReadonlyMap<string, bigint> = new Map();
  /** Every known change is at or below it. */
  #newest = 0n;

  constructor(private readonly source: ClusterClient) {}

  /**
   * Writes a note on every shard if anything but such notes is at or above the watermark. It wakes every time where
   * shards cannot be read directly, or take no notes.
   * @param ddlWatermark the stream has shown everything below it
   */
  async wake(ddlWatermark: bigint, options: CallOptions): Promise<void> {
    const sawNew = this.source.access === 'direct' && (await this.#lookForNew(options));
    if (this.source.access === 'direct' && ddlWatermark > this.#newest) return;
    const noted = await noteEachShard(this.source, options);
    if (noted === null) {
      await wakeStreams(this.source, options);
      return;
    }
    this.#noted = noted;
    // A write between the read and the note is below that shard's note, but not below the notes of all shards.
    if (sawNew) this.#newest = highestTime(noted.values());
  }

  async #lookForNew(options: CallOptions): Promise<boolean> {
    const times = [...(await operationTimes(this.source, options))]
      .filter(([id, time]) => time !== this.#noted.get(id))
      .map(([, time]) => time);
    this.#newest = highestTime([...times, this.#newest]);
    return times.length > 0;
  }
}
