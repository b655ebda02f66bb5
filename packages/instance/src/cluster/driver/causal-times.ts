import { type ClientSession, type ClusterTime, type Document, Timestamp } from 'mongodb';

/**
 * The times from which reads through a client are causal. A majority read shows what its node knows to be
 * majority-committed: a primary that was just elected may not know that yet for a write that was acknowledged, or that
 * an earlier read has shown.
 */
export class CausalTimes {
  #latest: Timestamp | null = null;
  #clusterTime: ClusterTime | null = null;
  #primary: Timestamp | null = null;

  /** The latest operation time of the primary that this client has seen; null before. */
  get ofPrimary(): Timestamp | null {
    return this.#primary;
  }

  /** Records the operation time of a primary's reply. */
  primaryAnswered({ operationTime }: Document): void {
    if (!(operationTime instanceof Timestamp)) return;
    if (this.#primary === null || operationTime.greaterThan(this.#primary)) this.#primary = operationTime;
  }

  /** Records the cluster time of any reply. */
  learn({ $clusterTime }: { $clusterTime?: Partial<ClusterTime> | undefined }): void {
    if ($clusterTime?.clusterTime === undefined || $clusterTime.signature === undefined) return;
    if (this.#clusterTime !== null && !$clusterTime.clusterTime.greaterThan(this.#clusterTime.clusterTime)) return;
    this.#clusterTime = $clusterTime as ClusterTime;
  }

  /** Records the operation time of a reply to a write, or to a read at majority; replies arrive in any order. */
  answered({ operationTime }: Document): void {
    if (!(operationTime instanceof Timestamp)) return;
    if (this.#latest === null || operationTime.greaterThan(this.#latest)) this.#latest = operationTime;
  }

  /** A majority read without a time waits for what was answered; any other command stays unchanged. */
  included(command: Document): Document {
    const concern = command.readConcern as Document | undefined;
    if (this.#latest === null || !isMajorityRead(command) || concern?.afterClusterTime !== undefined) return command;
    return { ...command, readConcern: { ...concern, afterClusterTime: this.#latest } };
  }

  /** Advances the session's cluster time: another router or member would refuse a time that it does not know (72). */
  prepare(session: ClientSession): void {
    if (this.#clusterTime !== null) session.advanceClusterTime(this.#clusterTime);
  }
}

/** Whether a command reads at majority. */
export function isMajorityRead({ readConcern }: Document): boolean {
  return (readConcern as Document | undefined)?.level === 'majority';
}
