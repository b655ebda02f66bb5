/** What was read serves all who ask for so long. */
const KEPT_MS = 1_500;
/** What takes long to read is kept for so many times as long: a large fleet's posts cost the process a tenth of its time at most. */
const KEPT_PER_READING = 10;

/**
 * Reads something again only when what was read last is old. Those who ask while it is read wait for the same reading.
 * @param read its failures are passed on, and tried again like everything else
 */
export function kept<Value>(read: () => Promise<Value>, now_ms: () => number = () => performance.now()): () => Promise<Value> {
  let last: Promise<Value> | null = null;
  let until_ms = Infinity;
  return () => {
    const begun_ms = now_ms();
    if (last !== null && begun_ms <= until_ms) return last;
    until_ms = Infinity;
    const done = (): void => {
      until_ms = begun_ms + Math.max(KEPT_MS, (now_ms() - begun_ms) * KEPT_PER_READING);
    };
    last = read();
    last.then(done, done);
    return last;
  };
}
