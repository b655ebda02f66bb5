import { type ClientSession, type ClusterTime, type Document, Timestamp } from 'mongodb';

/**
 * The operation time up to which reads through a door show what was written through it. A majority read by itself shows what its node knows
 * to be at a majority: a primary that was just elected may not know it yet of a write that is acknowledged.
 */
export class OwnWrites {
  #latest: Timestamp | null = null;
  #clusterTime: ClusterTime | null = null;

  /** Takes the times of a write's reply; replies come in any order. */
  answered({ operationTime, $clusterTime }: Document): void {
    if (!(operationTime instanceof Timestamp)) return;
    if (this.#latest !== null && !operationTime.greaterThan(this.#latest)) return;
    this.#latest = operationTime;
    this.#clusterTime =
      ($clusterTime as Partial<ClusterTime> | undefined)?.signature === undefined
        ? null
        : ($clusterTime as ClusterTime);
  }

  /** A read at majority that names no time waits for the writes; any other command stays as it is. */
  included(command: Document): Document {
    const concern = command['readConcern'] as Document | undefined;
    if (this.#latest === null || concern?.['level'] !== 'majority' || concern['afterClusterTime'] !== undefined)
      return command;
    return { ...command, readConcern: { ...concern, afterClusterTime: this.#latest } };
  }

  /** Tells the node of a session the time: another router than that of the write would refuse one that it does not know (72). */
  prepare(session: ClientSession): void {
    if (this.#clusterTime !== null) session.advanceClusterTime(this.#clusterTime);
  }
}
