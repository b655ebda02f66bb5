import { type Document, type MongoClient, type ReadPreferenceMode, Timestamp } from 'mongodb';
import type { Wait } from '../../async/clock.js';

/** A member that is behind its set by more than this is left out while there is another one. */
const staleBehind_seconds = 30;
/** The driver draws a member each time; so many times in a row it does not draw the same one of two. */
const choicesMax = 10;
/** A member that has not answered for this long is not read any more. */
const heardWithin_ms = 60_000;

/**
 * Clients of single members of a replica set, for reads from other members than the primary. A cursor lives on one
 * member, and the driver would choose a new member for every batch.
 */
export class MemberClients {
  private readonly clients = new Map<string, MongoClient>();
  /** Members that are read and behind, with when they last said so. */
  private readonly stale = new Map<string, number>();

  /**
   * @param readPreference which members to choose
   * @param connect opens a client of one member only, `host:port`
   */
  constructor(
    readonly readPreference: ReadPreferenceMode,
    private readonly connect: (host: string) => MongoClient,
    private readonly now_ms: () => number = () => performance.now(),
  ) {}

  /**
   * A member that the read preference currently allows; one that is far behind only when there is no other.
   * @returns its client, and its name if it has one
   */
  async choose(replicaSet: MongoClient, signal: AbortSignal): Promise<{ client: MongoClient; host: string | null }> {
    for (let choices = 1; ; choices += 1) {
      const hello: Document = await replicaSet
        .db('admin')
        .command({ hello: 1 }, { readPreference: this.readPreference, signal });
      const host: unknown = hello.me;
      // A member without its own name cannot be connected to; the set's client then chooses.
      if (typeof host !== 'string') return { client: replicaSet, host: null };
      const { lastWrite, $clusterTime } = hello as { lastWrite?: { opTime?: Document }; $clusterTime?: Document };
      if (choices < choicesMax && isBehind(lastWrite?.opTime?.ts, $clusterTime?.clusterTime)) continue;
      const client = this.clients.get(host) ?? this.connect(host);
      this.clients.set(host, client);
      return { client, host };
    }
  }

  /**
   * Notes a member's answer.
   * @param ownTime its operation time
   * @param setTimes what it, or the primary, knows of the set's time
   */
  heard(host: string, ownTime: unknown, ...setTimes: unknown[]): void {
    if (setTimes.some((time) => isBehind(ownTime, time))) this.stale.set(host, this.now_ms());
    else this.stale.delete(host);
  }

  /** The members that are read although they are far behind. */
  *waits(label: string): Generator<Wait> {
    for (const [host, heard_ms] of this.stale)
      if (this.now_ms() - heard_ms <= heardWithin_ms)
        yield { from: label, what: `its member ${host}, which is far behind the primary` };
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients.values()].map((client) => client.close()));
  }
}

function isBehind(own: unknown, ofSet: unknown): boolean {
  if (!(own instanceof Timestamp) || !(ofSet instanceof Timestamp)) return false;
  return ofSet.t - own.t > staleBehind_seconds;
}
