import type { RoutedStream } from '../../../src/store/change-event.js';

/** A stream that nothing has to wait for. */
export function routedStream(changes: Partial<RoutedStream> = {}): RoutedStream {
  return {
    position: 5n,
    untilNear: () => Promise.resolve(),
    untilRouted: () => Promise.resolve(),
    untilRoutedOrFull: () => Promise.resolve(true),
    untilNamed: () => Promise.resolve(),
    untilFlushed: () => Promise.resolve(),
    release: () => undefined,
    releaseReread: () => undefined,
    ...changes,
  };
}
