import { expect, it } from 'vitest';
import { Metadata, MetadataWriteError, refusingStale } from '../../../src/store/metadata.js';
import { VerificationStorage } from '../../../src/store/task-storage.js';
import { clientWith } from '../model/client-with.js';
import { MetadataModel } from '../model/metadata-model.js';
import { never, once } from '../model/parts.js';

/** Fails with these codes, one at a time, and then succeeds. */
function failingUpsert(codes: readonly number[]): { upsert: () => Promise<void>; calls: () => number } {
  let calls = 0;
  const upsert = (): Promise<void> => {
    const code = codes[calls];
    calls += 1;
    return code === undefined ? Promise.resolve() : Promise.reject(new MetadataWriteError(code));
  };
  return { upsert, calls: () => calls };
}

it('the document of a later owner is in the way also when the upsert is repeated', async () => {
  const { upsert, calls } = failingUpsert([11000, 11000]);
  await expect(refusingStale(upsert)).rejects.toMatchObject({ error: 'staleEpoch' });
  expect(calls()).toBe(2);
});

it('an upsert that fails for another reason is not repeated', async () => {
  const { upsert, calls } = failingUpsert([64]);
  await expect(refusingStale(upsert)).rejects.toMatchObject({ code: 64 });
  expect(calls()).toBe(1);
});

it('an owner that has inserted the same document twice at once stays the owner', async () => {
  const model = new MetadataModel();
  let isRaced = true;
  const metadata = new Metadata(
    clientWith({
      command: (_database, sent) => {
        const reply = model.run(sent);
        // The server has inserted the document for the other upsert, and repeats none whose filter has a range.
        const writeErrors = isRaced ? [{ index: 0, code: 11000 }] : [];
        isRaced = false;
        return Promise.resolve(writeErrors.length > 0 ? { n: 0, writeErrors } : reply);
      },
    }),
    once,
  );
  const storage = new VerificationStorage(metadata, 'shard0', 2, never);
  await expect(storage.saveMismatches([{ _id: 'a', key: 'copy' }])).resolves.toBeUndefined();
  expect(model.documents('mismatches')).toMatchObject([{ _id: 'a/shard0', epoch: 2 }]);
});
