import type { CallOptions, Cluster } from './door.js';

/** First release with user write blocking, on either side. */
export const writeBlockVersion = 6;

/**
 * Blocks the writes of users to a whole cluster, or allows them again (`setUserWriteBlockMode`, 6.0). Users with the
 * privilege `bypassWriteBlockingMode` go on writing. May be repeated.
 */
export async function setWriteBlock(cluster: Cluster, blocked: boolean, options: CallOptions): Promise<void> {
  await cluster.router.command('admin', { setUserWriteBlockMode: 1, global: blocked }, options);
}
