import { describe, expect, it } from 'vitest';
import { eventsOf } from './stream-events.js';
import { failureOf, VersionedShard } from '../versioned-shard.js';

describe('pre- and post-images', () => {
  const images = { fullDocumentBeforeChange: 'whenAvailable', fullDocument: 'whenAvailable' };

  async function change(fixture: VersionedShard): Promise<void> {
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 1 }] });
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { v: 2 } } }] });
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { v: 3 } }] });
    await fixture.run('db', { delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1 }] });
  }

  it('come with changes of collections that keep them, and can be read', async () => {
    using fixture = new VersionedShard('6.0');
    await fixture.run('db', { create: 'c', changeStreamPreAndPostImages: { enabled: true } });
    const from = fixture.now();
    await change(fixture);
    const events = await eventsOf(fixture, from, images);
    expect(
      events.map(({ operationType, fullDocument, fullDocumentBeforeChange }) => [
        operationType,
        fullDocument,
        fullDocumentBeforeChange,
      ]),
    ).toEqual([
      ['insert', { _id: 1, v: 1 }, undefined],
      ['update', { _id: 1, v: 2 }, { _id: 1, v: 1 }],
      ['replace', { _id: 1, v: 3 }, { _id: 1, v: 2 }],
      ['delete', undefined, { _id: 1, v: 3 }],
    ]);
    expect(Object.keys(events[1] ?? {}).at(-1)).toBe('fullDocumentBeforeChange');
  });

  it('are null where they are not kept, and an error where they are required', async () => {
    using fixture = new VersionedShard('6.0');
    const from = fixture.now();
    await change(fixture);
    const events = await eventsOf(fixture, from, images);
    expect(
      events.map(({ fullDocument, fullDocumentBeforeChange }) => [fullDocument, fullDocumentBeforeChange]),
    ).toEqual([
      [{ _id: 1, v: 1 }, undefined],
      [null, null],
      [{ _id: 1, v: 3 }, null],
      [undefined, null],
    ]);
    expect(await failureOf(eventsOf(fixture, from, { fullDocumentBeforeChange: 'required' }))).toMatchObject({
      code: 47,
    });
    expect((await failureOf(eventsOf(fixture, from, { fullDocument: 'required' }))).message).toContain(
      'configured to require a post-image for all update events, but the post-image was not found for event: ' +
        '{operationType: "update"',
    );
  });

  it('are of other kinds before 6.0', async () => {
    using fixture = new VersionedShard('5.0');
    await fixture.run('db', { create: 'c', recordPreImages: true });
    const from = fixture.now();
    await change(fixture);
    expect(
      (await eventsOf(fixture, from, { fullDocumentBeforeChange: 'required' })).at(-1)?.['fullDocumentBeforeChange'],
    ).toEqual({ _id: 1, v: 3 });
    expect(await failureOf(eventsOf(fixture, from, images))).toMatchObject({ code: 40575 });
  });
});
