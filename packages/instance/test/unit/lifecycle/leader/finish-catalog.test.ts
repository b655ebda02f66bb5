import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { UniqueIndexViolated } from '../../../../src/catalog/index-attributes.js';
import { holdWhileViolated } from '../../../../src/lifecycle/leader/finish-catalog.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { depsWith } from '../../model/deps-with.js';
import { viewWith } from '../../model/migration-state.js';
import { never, rawOf } from '../../model/parts.js';

it('documents that hold a commit are listed as long as they do, also while the list is rebuilt', async () => {
  let now_ms = 0;
  const listed = new Map<string, Document>();
  /** The length of the list after each of its changes. */
  const counts: number[] = [];
  const metadata = {
    upsertMany: (_collection: string, documents: readonly Document[]) => {
      for (const document of documents) listed.set(String(document._id), document);
      return Promise.resolve(void counts.push(listed.size));
    },
    deleteMany: (_collection: string, { lastSeen }: Document) => {
      const kept = (lastSeen as { $ne: Date } | undefined)?.$ne.getTime();
      for (const [id, document] of listed) if ((document.lastSeen as Date).getTime() !== kept) listed.delete(id);
      return Promise.resolve(void counts.push(listed.size));
    },
  };
  const view = viewWith();
  const deps = depsWith({
    leaderEpoch: 1,
    runtime: {
      clock: {
        now_ms: () => now_ms,
        monotonic_ms: () => now_ms,
        sleep: (duration_ms: number) => Promise.resolve(void (now_ms += duration_ms)),
      },
      config: { retry_minutes: 30 },
      logger: { warn: () => undefined },
    },
    records: {
      updateAsLeader: (_epoch: number, set: Partial<MigrationRecord>) =>
        Promise.resolve(void Object.assign(view.record, set)),
    },
    watch: { view, refresh: () => Promise.resolve(view) },
    metadata,
  });
  /** `_id`s with the same key, at each attempt. */
  const tries = [[1, 2, 3], [1, 2, 3], [2, 3], []];
  const restore = (): Promise<void> => {
    const ids = (tries.shift() ?? []).map(rawOf);
    return ids.length === 0
      ? Promise.resolve()
      : Promise.reject(new UniqueIndexViolated([{ namespace: 'shop.items', index: 'name_1', ids }], null));
  };
  await holdWhileViolated(deps, restore, never);
  expect(counts).toEqual([3, 3, 3, 3, 3, 2, 0]);
});
