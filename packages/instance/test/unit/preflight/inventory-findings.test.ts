import { expect, it } from 'vitest';
import { Fixture, requestOf } from './fixture.js';

it('zones that a replica set cannot have are refused', async () => {
  const fixture = new Fixture();
  fixture.destination = { kind: 'replicaSet', shardIds: ['rs'] };
  const request = requestOf({ carry: ['zones'] });
  await expect(fixture.check(request)).rejects.toMatchObject({
    error: 'carryNotPossible',
    errorDescription: expect.stringMatching(/zones in carry need two sharded clusters/) as unknown,
  });
  const { items } = await fixture.report(request);
  expect(items.find(({ check }) => check === 'carry')).toMatchObject({ result: 'failed' });
});

it.each(['admin', 'config', 'local'])(
  'a filter that names a collection of %s is refused, a pattern is not',
  async (database) => {
    const fixture = new Fixture();
    const include = (selector: object) => requestOf({ includeNamespaces: [selector] });
    await expect(fixture.check(include({ database, collections: ['notes'] }))).rejects.toMatchObject({
      error: 'filterNamesServerDatabase',
      errorDescription: expect.stringContaining(`${database}.notes`) as unknown,
    });
    await expect(fixture.check(include({ databaseRegex: { pattern: '.' } }))).resolves.toBeDefined();
  },
);

it('what is not readable is unchecked, and refuses no start', async () => {
  const fixture = new Fixture();
  fixture.sourceServer.refused.set('admin', 13);
  const { canStart, items } = await fixture.report();
  expect(canStart).toBe(true);
  expect(items.find(({ check }) => check === 'inventory')).toMatchObject({
    result: 'unchecked',
    description: expect.stringMatching(/ownCollections.*listCollections on admin and config/) as unknown,
  });
});
