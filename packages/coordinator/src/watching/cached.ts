/** How long a read value serves all readers. */
const CACHED_MS = 1_500;
/**
 * A slow read is cached for this multiple of its duration: a large fleet's details cost at most a tenth of the
 * process's time.
 */
const CACHED_PER_READING = 10;

/**
 * Reads a value again only when the last one is old. Callers during a read wait for the same read.
 * @param read its failures are passed on and cached like values
 */
export function cached<Value>(
  read: () => Promise<Value>,
  now_ms: () => number = () => performance.now(),
): () => Promise<Value> {
  let last: Promise<Value> | null = null;
  let until_ms = Infinity;
  return () => {
    const started_ms = now_ms();
    if (last !== null && started_ms <= until_ms) return last;
    until_ms = Infinity;
    const done = (): void => {
      until_ms = started_ms + Math.max(CACHED_MS, (now_ms() - started_ms) * CACHED_PER_READING);
    };
    last = read();
    last.then(done, done);
    return last;
  };
}
