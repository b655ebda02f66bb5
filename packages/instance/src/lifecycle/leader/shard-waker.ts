import { highestTime, noteEachShard, operationTimes, wakeStreams } from '../../cluster/cluster-time.js';
import type { CallOptions, ClusterClient } from '../../cluster/node-client.js';

/**
 * Moves the streams of idle shards on. A stream of the whole cluster is as far as its slowest shard, which by itself moves
 * with the server's ticks alone, every 10 s by default. Where nothing is new, nothing is written.
 */
export class ShardWaker {
  /** The time of every shard's last note by this waker: a shard that is still there has nothing new. */
  #noted: ReadonlyMap<string, bigint> = new Map();
  /** Everything new that was seen lies at or below it. */
  #newest = 0n;

  constructor(private readonly source: ClusterClient) {}

  /**
   * Writes a note on every shard when there is anything at or above the horizon but such notes. Where shards cannot be asked
   * (through a router), or take no notes, it moves them every time.
   * @param horizon everything below has been seen
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
    // What a shard has written between the look and its note lies below that note, but not below all of them.
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
