import { BSON } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { bytesOf, collectionOf, rawOf, settled, times } from '../model/parts.js';
import { RereadFixture } from './reread-fixture.js';

let fixture: RereadFixture;

beforeEach(() => {
  fixture = new RereadFixture();
});

describe('a document that another one blocks', () => {
  const blocked = { n: 0, failures: [{ index: 0, code: 11000, message: '' }] };

  it('stays in the set; the others of its batch leave it', async () => {
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

  it('ends the migration when the source has both documents', async () => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    [fixture.source, fixture.destination, fixture.everywhere] = [[own], [other], [own, other]];
    fixture.answers = Array.from({ length: 9 }, () => blocked);
    expect((await tryMany()).ended).toMatchObject({ error: 'duplicateIdAcrossShards' });
    expect(fixture.writes).toHaveLength(5);
  });

  it('ends the migration when the task owns both documents, as through a router', async () => {
    [fixture.source, fixture.destination, fixture.everywhere] = [[own, other], [own], [own, other]];
    fixture.answers = Array.from({ length: 9 }, () => ({ n: 1, failures: [{ index: 1, code: 11000, message: '' }] }));
    expect((await tryMany()).ended).toMatchObject({ error: 'duplicateIdAcrossShards' });
  });

  it.each([
    ['the source no longer has the other one', [other], [own]],
    ['the source no longer has it', [other], [other]],
    ['the source has both, and an outdated third one is in the way', [other, outdated], [own, other]],
    ['nothing is in the way any more', [], [own, other]],
  ])('is tried again while %s', async (_why, onDestination, onSource) => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    [fixture.source, fixture.destination, fixture.everywhere] = [[own], onDestination, onSource];
    fixture.answers = Array.from({ length: 7 }, () => blocked);
    expect((await tryMany()).ended).toBeNull();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([8, 0]);
  });
});

describe('a document that the destination does not accept yet', () => {
  const refusedBy = (code: number) => ({ n: 0, failures: [{ index: 0, code, message: '' }] });
  const [bad, fixed] = [bytesOf({ _id: 1, sk: 3, place: 'nowhere' }), bytesOf({ _id: 1, sk: 3, place: [1, 2] })];

  /** Re-reads until the document has left the set, or until `attempts` writes. */
  async function tryAgain(attempts: number): Promise<{ ended: unknown }> {
    let ended: unknown = null;
    const { run } = await fixture.reread(1);
    void run.then((error) => (ended = error));
    while (fixture.writes.length < attempts && fixture.rereads.size > 0 && ended === null)
      await fixture.scheduler.step();
    await settled();
    return { ended };
  }

  it('is re-read until the source has a version that the index accepts', async () => {
    fixture.source = [bad];
    fixture.answers = Array.from({ length: 20 }, () => refusedBy(16755));
    fixture.duringRead = () => {
      if (fixture.writes.length === 20) fixture.source = [fixed];
    };
    expect((await tryAgain(30)).ended).toBeNull();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([21, 0]);
  });

  it('waits for an index however far the reads are behind the source', async () => {
    [fixture.source, fixture.everywhere] = [[bad], [fixed]];
    fixture.answers = Array.from({ length: 400 }, () => refusedBy(171));
    expect((await tryAgain(400)).ended).toBeNull();
    expect(fixture.rereads.size).toBe(1);
  });

  it('ends the migration when the source still has it after half an hour', async () => {
    [fixture.source, fixture.everywhere] = [[bad], [bad]];
    fixture.answers = Array.from({ length: 400 }, () => refusedBy(16755));
    const started_ms = fixture.scheduler.monotonic_ms();
    expect((await tryAgain(400)).ended).toMatchObject({
      error: 'writeRefused',
      errorDescription: 'The destination refused a write to shop.orders with code 16755.',
    });
    expect(fixture.scheduler.monotonic_ms() - started_ms).toBeGreaterThanOrEqual(25 * 60_000);
  });

  it('refused by an index is no duplicate _id across shards', async () => {
    const twin = bytesOf({ _id: 1, sk: 7 });
    [fixture.source, fixture.destination, fixture.everywhere] = [[fixed, twin], [twin], [fixed, twin]];
    fixture.answers = Array.from({ length: 8 }, () => ({ ...refusedBy(16755), n: 1 }));
    expect((await tryAgain(20)).ended).toBeNull();
    expect(fixture.rereads.size).toBe(0);
  });

  it('refused because the collation matches a document to delete is written after the delete', async () => {
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
] as const)('a document with an unknown write outcome is %s again', async (_how, onSource, onDestination, kind) => {
  [fixture.source, fixture.destination, fixture.retrying] = [[...onSource], [...onDestination], times(2)];
  fixture.answers = [{ n: 0, failures: [{ index: 0, code: 217, message: '' }] }];
  await fixture.reread(1);
  expect(fixture.writes.map((one) => one.kind)).toEqual([kind, kind]);
  expect(fixture.rereads.size).toBe(0);
});

it('a refused re-read ends the migration with namespace and code', async () => {
  fixture.source = [bytesOf({ _id: 1, sk: 3 })];
  fixture.answers = [{ n: 0, failures: [{ index: 0, code: 10334, message: 'secret' }] }];
  const { run } = await fixture.reread(1);
  expect(await run).toMatchObject({
    error: 'documentTooLarge',
    errorDescription: 'A document of shop.orders is larger than the destination takes.',
  });
});
