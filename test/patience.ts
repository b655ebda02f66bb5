/** A test gives up a wait this long before its limit, so that it can say what it waited for. */
const margin_ms = 5_000;
/** For hooks that run before any test. */
const withoutTest_ms = 100_000;

let end_ms: number | undefined;

/** @param limit_ms of the test that begins now */
export function beginPatience(limit_ms: number): void {
  end_ms = performance.now() + limit_ms - margin_ms;
}

/** Hooks of the next file have no test. */
export function endPatience(): void {
  end_ms = undefined;
}

/**
 * How long may be waited for something now, in milliseconds: until shortly before the test's own limit, the only one
 * that there is. A machine under load takes many times as long for each step as an idle one.
 */
export function patience_ms(): number {
  return end_ms === undefined ? withoutTest_ms : Math.max(0, end_ms - performance.now());
}
