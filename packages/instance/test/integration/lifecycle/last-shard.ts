import { expect } from 'vitest';
import { patience_ms } from '../../../../../test/patience.js';
import type { Side } from '../contract/fixture.js';

/** Takes the last shard away from a new cluster. @returns what adds it again */
export async function withoutLastShard({ client }: Side): Promise<() => Promise<void>> {
  const admin = client.db('admin');
  const { shards } = (await admin.command({ listShards: 1 })) as { shards: { _id: string; host: string }[] };
  const last = shards.at(-1);
  if (last === undefined) throw new Error('a cluster without shards');
  await expect
    .poll(async () => (await admin.command({ removeShard: last._id })).state as unknown, { timeout: patience_ms() })
    .toBe('completed');
  return async () => {
    await admin.command({ addShard: last.host, name: last._id });
  };
}
