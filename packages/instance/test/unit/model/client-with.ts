import type { NodeClient } from '../../../src/cluster/node-client.js';

/** A client with some methods; calls of the others reject. */
export function clientWith(methods: Partial<NodeClient>): NodeClient {
  const missing = (): Promise<never> => Promise.reject(new Error('the test has no such call'));
  return {
    label: 'client',
    command: missing,
    openCursor: missing,
    write: missing,
    close: () => Promise.resolve(),
    ...methods,
  };
}
