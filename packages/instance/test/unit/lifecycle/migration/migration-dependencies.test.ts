import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { expect, it } from 'vitest';
import { awaitsIndexes, indexScopeOf } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import { recordWith } from '../../model/migration-state.js';

const optionsOf = (buildIndexes: string) =>
  parseStartRequest({ source: 'cluster0', destination: 'cluster1', buildIndexes });

it('until everything is copied, indexes that are built after the copy are those of the shard keys', () => {
  const options = optionsOf('afterDataCopy');
  expect([indexScopeOf(recordWith({ options })), awaitsIndexes(recordWith({ options }))]).toEqual(['shardKey', true]);
});

it('from then on the destination should have all, and a commit waits until it does', () => {
  const options = optionsOf('afterDataCopy');
  const [running, done] = (['running', 'done'] as const).map((indexBuilds) => recordWith({ options, indexBuilds }));
  expect([running, done].map((record) => record && indexScopeOf(record))).toEqual(['all', 'all']);
  expect([running, done].map((record) => record && awaitsIndexes(record))).toEqual([true, false]);
});

it.each(['beforeDataCopy', 'excludeHashed', 'never'])('a commit never waits for indexes with %s', (value) => {
  expect(awaitsIndexes(recordWith({ options: optionsOf(value) }))).toBe(false);
});
