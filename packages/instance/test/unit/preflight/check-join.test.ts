import { describe, expect, it } from 'vitest';
import { Fixture, requestOf } from './fixture.js';

describe('checkJoin', () => {
  it('accepts what the migration has made on the destination, and reads nothing for each collection', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.add('convoy_metadata.migration', { documents: [{ _id: 1 }] });
    fixture.destinationServer.add('app.c', { documents: [{ _id: 1 }] });
    await fixture.join();
    const names = fixture.sourceServer.client.sent.map(({ command }) => Object.keys(command)[0]);
    expect(names).not.toContain('listCollections');
    expect(names).not.toContain('listIndexes');
    expect(names).not.toContain('dataSize');
  });

  it('refuses a bound of its memory that is too small for a verified migration', async () => {
    const verified = requestOf({}, { verification: { enabled: true } });
    const refusal = new Fixture().join(verified, { memoryBytesMax: 64 * 2 ** 20 });
    await expect(refusal).rejects.toMatchObject({ error: 'verificationMemoryInsufficient' });
  });

  it("refuses what the joining instance's own settings name", async () => {
    const fixture = new Fixture();
    fixture.destination = { clusterId: '0a' };
    await expect(fixture.join()).rejects.toMatchObject({ error: 'sourceEqualsDestination' });
  });
});
