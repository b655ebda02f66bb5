import type { Clock } from '../cluster/clock.js';
import type { Door } from '../cluster/door.js';
import type { Begun } from '../store/begun.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../store/metadata.js';
import type { RepairEntry, RepairSet } from '../store/repair-set.js';

/** What the repair station asks of those around it. */
export interface RepairContext {
  /** The source shard that is read. */
  shard: Door;
  /** Way to the destination's documents. */
  destination: Door;
  /** Way to the source's documents on all shards. */
  source: Door;
  writer: FencedWriter;
  repairs: RepairSet;
  begun: Begun;
  retrying: Retrying;
  clock: Clock;
  /** The largest time up to which every event of the shard's stream has been routed. */
  position(): bigint;
  /** Resolves once the stream has been routed up to `time`. */
  untilRouted(time: bigint, signal: AbortSignal): Promise<void>;
  /** False while the key's partition is not copied yet. */
  mayRead(entry: RepairEntry): boolean;
  /** Lets the held events of a repaired key go on, before all later ones of its class. */
  release(entry: RepairEntry): void;
}
