import type { NodeClient } from '../../cluster/node-client.js';

/** Whether a collection has any document, not counting orphans. */
export async function holdsDocuments(
  router: NodeClient,
  { database, name }: { database: string; name: string },
  signal: AbortSignal,
): Promise<boolean> {
  const reply = await router.command(
    database,
    { find: name, limit: 1, singleBatch: true, projection: { _id: 1 } },
    { signal },
  );
  return (reply.cursor as { firstBatch: unknown[] }).firstBatch.length > 0;
}
