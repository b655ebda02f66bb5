import { secondsToTimeKey, type TimeKey } from './time-key.js';

interface Retired {
  readonly time: TimeKey;
  readonly bytes: number;
  readonly release: () => void;
}

/**
 * Limit of the superseded documents in bytes. Above it the window shrinks, as the server's does under cache pressure.
 */
const HISTORY_BYTES_MAX = 512 * 1024 * 1024;

/** Releases per purge, so that no single write pays for a large backlog. */
const RELEASES_PER_PURGE_MAX = 256;

/** Superseded states that earlier times can still read, oldest first. */
export class History {
  #queue: Retired[] = [];
  #head = 0;
  #bytes = 0;
  #forgottenUpTo: TimeKey = 0;

  /** @param windowSeconds how far back reads at a time may go @param now wall clock, milliseconds */
  constructor(
    public windowSeconds: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Retains what was superseded at `time` until no reader may ask for an earlier time. */
  retire(time: TimeKey, bytes: number, release: () => void): void {
    this.#queue.push({ time, bytes, release });
    this.#bytes += bytes;
    this.purge();
  }

  /** The oldest time that can still be read. */
  oldestReadable(): TimeKey {
    return Math.max(this.#windowStart(), this.#forgottenUpTo);
  }

  /** Releases what has left the window, at most a bounded number of entries per call. */
  purge(): void {
    const windowStart = this.#windowStart();
    for (let count = 0; count < RELEASES_PER_PURGE_MAX; count += 1) {
      const oldest = this.#queue[this.#head];
      if (oldest === undefined) break;
      if (oldest.time >= windowStart && this.#bytes <= HISTORY_BYTES_MAX) break;
      this.#head += 1;
      this.#bytes -= oldest.bytes;
      this.#forgottenUpTo = Math.max(this.#forgottenUpTo, oldest.time);
      oldest.release();
    }
    if (this.#head > RELEASES_PER_PURGE_MAX && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #windowStart(): TimeKey {
    return secondsToTimeKey(Math.floor(this.now() / 1000) - this.windowSeconds);
  }
}
