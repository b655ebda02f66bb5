import { Timestamp } from 'bson';

/**
 * The cluster time of one simulated cluster, a hybrid logical clock. `current` tells the largest time given so far and `tick` a new one
 * that is larger than all. Each node goes on by itself from what it has given and from what anybody was told, as nodes do that learn of
 * each other's time by messages: two shards that answer one broadcast write give it the same time (corpus: 04-events-documents).
 */
export class ClusterClock {
  #seconds: number;
  #increment = 1;
  /** The largest time that was told; no node gives one at or below it any more. */
  #announcedSeconds: number;
  #announcedIncrement = 1;

  /** @param now wall clock in milliseconds, injected so that tests can steer it */
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

  /** Brings a node's time to the next one it may give: larger than its own and than every time that was told. */
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

  /** Lets every node know of the largest time given so far, as messages between them do. */
  announce(): void {
    this.#announcedSeconds = this.#seconds;
    this.#announcedIncrement = this.#increment;
  }
}

/** The largest time that a node has given. */
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
