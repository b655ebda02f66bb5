import type { Document } from 'mongodb';
import { batchesOf } from '../../cluster/reads.js';
import type { NodeClient } from '../../cluster/node-client.js';

/**
 * Reads a cursor to its end and decodes every document. Only for catalogs, whose size the cluster itself bounds: a
 * secondary may lag behind what the change stream has shown, so they come from the primary.
 * @throws what the client throws; closes the cursor in any case
 */
export async function readCursor<Decoded>(
  client: NodeClient,
  database: string,
  command: Document,
  decode: (bytes: Uint8Array) => Decoded,
  signal: AbortSignal,
): Promise<Decoded[]> {
  const cursor = await client.openCursor(database, command, { signal, primary: true });
  const decoded: Decoded[] = [];
  for await (const { documents } of batchesOf(cursor, signal)) {
    for (const bytes of documents) decoded.push(decode(bytes));
  }
  return decoded;
}
