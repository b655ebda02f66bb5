import { type ClientSession, type ClusterTime, type Document, Timestamp } from 'mongodb';

/**
 * The operation time from which reads through a client see its own writes. A majority read shows what its node knows to
 * be majority-committed. A primary that was just elected may not know that yet for an acknowledged write.
 */
export class OwnWrites {
  #latest: Timestamp | null = null;
  #clusterTime: ClusterTime | null = null;

  /** Records the time of a write's reply; replies arrive in any order. */
  answered({ operationTime, $clusterTime }: Document): void {
    if (!(operationTime instanceof Timestamp)) return;
    if (this.#latest !== null && !operationTime.greaterThan(this.#latest)) return;
    this.#latest = operationTime;
    this.#clusterTime =
      ($clusterTime as Partial<ClusterTime> | undefined)?.signature === undefined
        ? null
        : ($clusterTime as ClusterTime);
  }

  /** A majority read without a time waits for the writes; any other command stays unchanged. */
  included(command: Document): Document {
    const concern = command['readConcern'] as Document | undefined;
    if (this.#latest === null || concern?.['level'] !== 'majority' || concern['afterClusterTime'] !== undefined)
      return command;
    return { ...command, readConcern: { ...concern, afterClusterTime: this.#latest } };
  }

  /**
   * Advances the session's cluster time: a router other than the writing one would refuse a time that it does not know
   * (72).
   */
  prepare(session: ClientSession): void {
    if (this.#clusterTime !== null) session.advanceClusterTime(this.#clusterTime);
  }
}
