import { BSON } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { bytesOf, collectionOf, rawOf, settled, times } from '../model/parts.js';
import { RereadFixture } from './reread-fixture.js';

let fixture: RereadFixture;

beforeEach(() => {
  fixture = new RereadFixture();
});

describe('a key that another document blocks', () => {
  const blocked = { n: 0, failures: [{ index: 0, code: 11000, message: '' }] };

  it('stays in the set, and the others of its batch leave', async () => {
    fixture.source = [bytesOf({ _id: 1, sk: 3 }), bytesOf({ _id: 2, sk: 3 })];
    fixture.answers = [{ ...blocked, n: 1 }];
    await fixture.reread(1, 2);
    expect([...fixture.rereads.entries()].map(({ id, attempts }) => [id, attempts])).toEqual([[rawOf(1), 1]]);
    expect(fixture.released).toEqual([{ buffered: 0, size: 1 }]);
  });

  const [own, other, outdated] = [bytesOf({ _id: 1, sk: 3 }), bytesOf({ _id: 1, sk: 7 }), bytesOf({ _id: 1, sk: 9 })];

  async function tryMany(): Promise<{ ended: unknown }> {
    let ended: unknown = null;
    const { run } = await fixture.reread(1);
    void run.then((error) => (ended = error));
    for (let moment = 0; moment < 400; moment += 1) await fixture.scheduler.step();
    return { ended };
  }

  it('ends the migration when the source holds both documents', async () => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    [fixture.source, fixture.destination, fixture.everywhere] = [[own], [other], [own, other]];
    fixture.answers = Array.from({ length: 9 }, () => blocked);
    expect((await tryMany()).ended).toMatchObject({ error: 'duplicateIdAcrossShards' });
    expect(fixture.writes).toHaveLength(5);
  });

  it('ends the migration when the share owns both documents, as through a router', async () => {
    [fixture.source, fixture.destination, fixture.everywhere] = [[own, other], [own], [own, other]];
    fixture.answers = Array.from({ length: 9 }, () => ({ n: 1, failures: [{ index: 1, code: 11000, message: '' }] }));
    expect((await tryMany()).ended).toMatchObject({ error: 'duplicateIdAcrossShards' });
  });

  it.each([
    ['the other is gone from the source', [other], [own]],
    ['its own is gone by now', [other], [other]],
    ['both live, and a third that is outdated is in the way', [other, outdated], [own, other]],
    ['nothing is in the way any more', [], [own, other]],
  ])('is tried again as long as %s', async (_why, onDestination, onSource) => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    [fixture.source, fixture.destination, fixture.everywhere] = [[own], onDestination, onSource];
    fixture.answers = Array.from({ length: 7 }, () => blocked);
    expect((await tryMany()).ended).toBeNull();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([8, 0]);
  });
});

describe('a key whose document the destination does not take yet', () => {
  const refusedBy = (code: number) => ({ n: 0, failures: [{ index: 0, code, message: '' }] });
  const [bad, fixed] = [bytesOf({ _id: 1, sk: 3, place: 'nowhere' }), bytesOf({ _id: 1, sk: 3, place: [1, 2] })];

  /** Repairs until the key has left the set or so many attempts were made. */
  async function tryAgain(attempts: number): Promise<{ ended: unknown }> {
    let ended: unknown = null;
    const { run } = await fixture.reread(1);
    void run.then((error) => (ended = error));
    while (fixture.writes.length < attempts && fixture.rereads.size > 0 && ended === null)
      await fixture.scheduler.step();
    await settled();
    return { ended };
  }

  it('because an index is ahead of it is read again until the source has mended it', async () => {
    fixture.source = [bad];
    fixture.answers = Array.from({ length: 20 }, () => refusedBy(16755));
    fixture.duringRead = () => {
      if (fixture.writes.length === 20) fixture.source = [fixed];
    };
    expect((await tryAgain(30)).ended).toBeNull();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([21, 0]);
  });

  it('because an index is ahead of it waits however far the readings are behind what the source has', async () => {
    [fixture.source, fixture.everywhere] = [[bad], [fixed]];
    fixture.answers = Array.from({ length: 400 }, () => refusedBy(171));
    expect((await tryAgain(400)).ended).toBeNull();
    expect(fixture.rereads.size).toBe(1);
  });

  it('because of an index ends the migration when the source has the very document after half an hour', async () => {
    [fixture.source, fixture.everywhere] = [[bad], [bad]];
    fixture.answers = Array.from({ length: 400 }, () => refusedBy(16755));
    const started_ms = fixture.scheduler.monotonic_ms();
    expect((await tryAgain(400)).ended).toMatchObject({
      error: 'writeRefused',
      errorDescription: 'The destination refused a write to shop.orders with code 16755.',
    });
    expect(fixture.scheduler.monotonic_ms() - started_ms).toBeGreaterThanOrEqual(25 * 60_000);
  });

  it('because of an index says nothing of documents with the same _id on several shards', async () => {
    const twin = bytesOf({ _id: 1, sk: 7 });
    [fixture.source, fixture.destination, fixture.everywhere] = [[fixed, twin], [twin], [fixed, twin]];
    fixture.answers = Array.from({ length: 8 }, () => ({ ...refusedBy(16755), n: 1 }));
    expect((await tryAgain(20)).ended).toBeNull();
    expect(fixture.rereads.size).toBe(0);
  });

  it("because the collection's collation finds one that is still to be deleted is written after that", async () => {
    fixture.collection = collectionOf({ collated: true, sourceKey: [], destinationKey: [] });
    fixture.source = [bytesOf({ _id: 1 })];
    fixture.answers = Array.from({ length: 7 }, () => refusedBy(66));
    expect((await tryAgain(20)).ended).toBeNull();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([8, 0]);
  });
});

it.each([
  ['written', [bytesOf({ _id: 1, sk: 3 })], [], 'update'],
  ['deleted', [], [bytesOf({ _id: 1, sk: 3 })], 'delete'],
] as const)(
  'a document that is to be %s, of which nobody knows whether it was, is so again',
  async (_how, onSource, onDestination, kind) => {
    [fixture.source, fixture.destination, fixture.retrying] = [[...onSource], [...onDestination], times(2)];
    fixture.answers = [{ n: 0, failures: [{ index: 0, code: 217, message: '' }] }];
    await fixture.reread(1);
    expect(fixture.writes.map((one) => one.kind)).toEqual([kind, kind]);
    expect(fixture.rereads.size).toBe(0);
  },
);

it('a refused repair ends the migration by namespace and code', async () => {
  fixture.source = [bytesOf({ _id: 1, sk: 3 })];
  fixture.answers = [{ n: 0, failures: [{ index: 0, code: 10334, message: 'secret' }] }];
  const { run } = await fixture.reread(1);
  expect(await run).toMatchObject({
    error: 'documentTooLarge',
    errorDescription: 'A document of shop.orders is larger than the destination takes.',
  });
});
