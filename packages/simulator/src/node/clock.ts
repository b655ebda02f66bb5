import { Timestamp } from 'bson';

/**
 * The cluster time of one simulated cluster, a hybrid logical clock. `current` is the largest time so far, and `tick` a
 * new one that is larger than all. Each node continues from the times it has issued and from those that became known,
 * as nodes learn each other's time by messages. Two shards that answer one broadcast write issue the same time (corpus:
 * 04-events-documents).
 */
export class ClusterClock {
  #seconds: number;
  #increment = 1;
  /** The largest known time. No node issues one at or below it any more. */
  #announcedSeconds: number;
  #announcedIncrement = 1;

  /** @param now wall clock in milliseconds, injected so that tests can control it */
  constructor(private readonly now: () => number = Date.now) {
    this.#seconds = Math.floor(now() / 1000);
    this.#announcedSeconds = this.#seconds;
  }

  tick(): Timestamp {
    this.announce();
    this.goOn(new NodeTime());
    return this.current();
  }

  current(): Timestamp {
    this.announce();
    return new Timestamp({ t: this.#seconds, i: this.#increment });
  }

  /** Advances a node's time to the next one: larger than its own and than every known time. */
  goOn(node: NodeTime): void {
    if (
      node.seconds < this.#announcedSeconds ||
      (node.seconds === this.#announcedSeconds && node.increment < this.#announcedIncrement)
    ) {
      node.seconds = this.#announcedSeconds;
      node.increment = this.#announcedIncrement;
    }
    const wallSeconds = Math.floor(this.now() / 1000);
    if (wallSeconds > node.seconds) {
      node.seconds = wallSeconds;
      node.increment = 1;
    } else {
      node.increment += 1;
    }
    if (node.seconds > this.#seconds || (node.seconds === this.#seconds && node.increment > this.#increment)) {
      this.#seconds = node.seconds;
      this.#increment = node.increment;
    }
  }

  /** Makes the largest issued time known to every node, as messages between them do. */
  announce(): void {
    this.#announcedSeconds = this.#seconds;
    this.#announcedIncrement = this.#increment;
  }
}

/** The largest time that a node has issued. */
export class NodeTime {
  seconds = 0;
  increment = 0;

  /** Learns a time from elsewhere. */
  learn({ t, i }: Timestamp): void {
    if (t < this.seconds || (t === this.seconds && i <= this.increment)) return;
    this.seconds = t;
    this.increment = i;
  }
}
