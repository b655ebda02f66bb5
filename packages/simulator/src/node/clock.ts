import { Timestamp } from 'bson';

/**
 * The cluster time of one simulated cluster: a hybrid logical clock that all its nodes share.
 * `tick` gives a new, strictly larger time; `current` the largest given so far.
 */
export class ClusterClock {
  #seconds: number;
  #increment = 1;

  /** @param now wall clock in milliseconds, injected so that tests can steer it */
  constructor(private readonly now: () => number = Date.now) {
    this.#seconds = Math.floor(now() / 1000);
  }

  tick(): Timestamp {
    const seconds = Math.floor(this.now() / 1000);
    if (seconds > this.#seconds) {
      this.#seconds = seconds;
      this.#increment = 1;
    } else {
      this.#increment += 1;
    }
    return this.current();
  }

  current(): Timestamp {
    return new Timestamp({ t: this.#seconds, i: this.#increment });
  }
}
