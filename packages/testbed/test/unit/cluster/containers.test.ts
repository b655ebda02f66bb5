import { expect, test } from 'vitest';
import { imageVersion } from '@convoy/testbed/cluster/server-version';
import { storageArguments } from '@convoy/testbed/cluster/real-servers';

test.each([
  ['mongo:6.0', [6, 0, 0]],
  ['mongo:7.0.14-jammy', [7, 0, 14]],
  ['registry.example:5000/mongo:8.0.3', [8, 0, 3]],
])('the version of %s is known before its start', (image, version) => {
  expect(imageVersion(image)).toEqual(version);
});

test('rejects an image without a version', () => {
  expect(() => imageVersion('mongo:latest')).toThrow(/tag with the version/);
});

test('frequent checkpoints keep a small oplog small', () => {
  expect(storageArguments('/data', undefined)).not.toContain('--syncdelay');
  expect(storageArguments('/data', 1_500_000)).toEqual(
    expect.arrayContaining(['--oplogSize', '2', '--syncdelay', '1']),
  );
});
