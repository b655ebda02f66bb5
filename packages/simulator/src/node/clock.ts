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
    this.advance();
    return this.current();
  }

  /** Goes on to a new time, which `seconds` and `increment` tell without making an object. */
  advance(): void {
    const seconds = Math.floor(this.now() / 1000);
    if (seconds > this.#seconds) {
      this.#seconds = seconds;
      this.#increment = 1;
    } else {
      this.#increment += 1;
    }
  }

  get seconds(): number {
    return this.#seconds;
  }

  get increment(): number {
    return this.#increment;
  }

  current(): Timestamp {
    return new Timestamp({ t: this.#seconds, i: this.#increment });
  }
}
