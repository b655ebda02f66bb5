import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mebibyte = 2 ** 20;
/**
 * Size up to which the young generation may grow. From Node.js 24 on it would take up to 128 MiB, which an instance
 * fills with what is garbage already.
 */
const youngBytesMax = 16 * mebibyte;
/** V8 doubles the young generation, or leaves its size. */
const [grows, stays] = [2, 1];
/**
 * Growth of the heap after which all of it is collected. V8 would wait for more than twice as much, mostly events that
 * have been applied since.
 */
const growthBytesMax = 32 * mebibyte;
/** A heap with more in use is left to V8, which collects it in small steps; all at once it would take half a second. */
const usedBytesMax = 128 * mebibyte;

/**
 * Keeps this process from taking memory only to collect garbage more rarely. To be called before most modules are
 * loaded: loading them lets the young generation grow to 64 MiB within a third of a second.
 */
export function boundHeap(): void {
  const young = new YoungGeneration();
  const heap = new WholeHeap();
  young.bound();
  new PerformanceObserver((list) => {
    young.bound();
    heap.bound(list.getEntries().some(isMajor));
  }).observe({ entryTypes: ['gc'] });
}

class YoungGeneration {
  #factor = grows;

  /** V8 shrinks the young generation of an idle process; it may grow again afterwards. */
  bound(): void {
    const factor = 2 * youngBytes() <= youngBytesMax ? grows : stays;
    if (factor !== this.#factor) setFlagsFromString(`--semi-space-growth-factor=${factor}`);
    this.#factor = factor;
  }
}

class WholeHeap {
  readonly #collect = exposedCollector();
  #usedBytes = getHeapStatistics().used_heap_size;
  #isAsked = false;

  /** @param isCollected whether the whole heap has just been collected */
  bound(isCollected: boolean): void {
    const bytes = getHeapStatistics().used_heap_size;
    if (isCollected) this.#isAsked = false;
    this.#usedBytes = isCollected ? bytes : Math.min(this.#usedBytes, bytes);
    const isSmall = this.#usedBytes < usedBytesMax;
    if (this.#isAsked || !isSmall || bytes - this.#usedBytes < growthBytesMax) return;
    this.#isAsked = true;
    void this.#collect({ type: 'major', execution: 'async' }).then(() => (this.#isAsked = false));
  }
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

/** @param entry of the type `gc`, whose `detail` Node.js documents and its types leave out */
function isMajor(entry: PerformanceEntry & { detail?: { kind?: number } }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/** V8's function `gc`, which only contexts made under this flag have. */
function exposedCollector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
