import { ObjectId } from 'mongodb';
import type { CallOptions, NodeClient } from './node-client.js';

/**
 * Identifies the election of the replica set's present primary. One member is primary in one term, and has neither
 * restarted nor rolled back anything since: both take another election.
 * @returns `electionId` in hexadecimal; null while the asked member is no primary
 */
export async function primaryTerm(client: NodeClient, options: CallOptions): Promise<string | null> {
  const { electionId } = await client.command('admin', { hello: 1 }, options);
  return electionId instanceof ObjectId ? electionId.toHexString() : null;
}
