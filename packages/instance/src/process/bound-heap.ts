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
/**
 * Growth of buffers after which the young generation is collected, which frees most of them. V8 does not look at them
 * before that generation is full of other objects: a copy of large documents has few.
 */
const buffersGrowthBytesMax = 16 * mebibyte;
/** The same of heap and buffers together, after which all is collected. */
const totalGrowthBytesMax = 80 * mebibyte;
const look_ms = 20;
/**
 * Major release of Node.js from which V8 can count buffers as a part of the heap. Otherwise it collects the whole heap
 * after each 64 MiB of buffers, which took two fifths of the CPU in a copy of large documents.
 */
const countedBuffersRelease = 24;
/** A heap with more in use is left to V8, which collects it in small steps; all at once it would take half a second. */
const usedBytesMax = 128 * mebibyte;

/**
 * Keeps this process from taking memory only to collect garbage more rarely. To be called before most modules are
 * loaded: loading them lets the young generation grow to 64 MiB within a third of a second.
 */
export function boundHeap(): void {
  if (Number.parseInt(process.versions.node, 10) >= countedBuffersRelease)
    setFlagsFromString('--external-memory-accounted-in-global-limit');
  const young = new YoungGeneration();
  const collect = exposedCollector();
  const heap = new WholeHeap(collect);
  const buffers = new Buffers(collect);
  young.bound();
  new PerformanceObserver((list) => {
    young.bound();
    heap.bound(list.getEntries().some(isMajor));
  }).observe({ entryTypes: ['gc'] });
  setInterval(() => buffers.bound(), look_ms).unref();
}

/** Buffers are outside of the heap, and are freed with the objects that hold them. */
class Buffers {
  readonly #collect: NodeJS.GCFunction;
  #bytes = getHeapStatistics().external_memory;

  constructor(collect: NodeJS.GCFunction) {
    this.#collect = collect;
  }

  bound(): void {
    const bytes = getHeapStatistics().external_memory;
    this.#bytes = Math.min(this.#bytes, bytes);
    if (bytes - this.#bytes < buffersGrowthBytesMax) return;
    this.#collect({ type: 'minor' });
    this.#bytes = getHeapStatistics().external_memory;
  }
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
  readonly #collect: NodeJS.GCFunction;
  /** The least since the last collection of everything: of the heap, and with its buffers. */
  #usedBytes = getHeapStatistics().used_heap_size;
  #totalBytes = this.#usedBytes + getHeapStatistics().external_memory;
  #isAsked = false;

  constructor(collect: NodeJS.GCFunction) {
    this.#collect = collect;
  }

  /** @param isCollected whether the whole heap has just been collected */
  bound(isCollected: boolean): void {
    const { used_heap_size: bytes, external_memory } = getHeapStatistics();
    const total = bytes + external_memory;
    if (isCollected) this.#isAsked = false;
    this.#usedBytes = isCollected ? bytes : Math.min(this.#usedBytes, bytes);
    this.#totalBytes = isCollected ? total : Math.min(this.#totalBytes, total);
    const isSmall = this.#usedBytes < usedBytesMax;
    const hasGrown = bytes - this.#usedBytes >= growthBytesMax || total - this.#totalBytes >= totalGrowthBytesMax;
    if (this.#isAsked || !isSmall || !hasGrown) return;
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
