/** What was read serves all who ask for so long. */
const CACHED_MS = 1_500;
/** What takes long to read is kept for so many times as long: a large fleet's posts cost the process a tenth of its time at most. */
const CACHED_PER_READING = 10;

/**
 * Reads something again only when what was read last is old. Those who ask while it is read wait for the same reading.
 * @param read its failures are passed on, and tried again like everything else
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
