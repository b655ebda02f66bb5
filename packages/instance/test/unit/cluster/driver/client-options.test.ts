import { expect, test } from 'vitest';
import { clientOptions } from '../../../../src/cluster/driver/client-options.js';

test('leave retries to the one policy of the instance', () => {
  expect(clientOptions({}, new URLSearchParams('retryWrites=true&retryReads=true'))).toMatchObject({
    retryReads: false,
    retryWrites: false,
  });
});

test('in the connection string override the defaults', () => {
  expect(clientOptions({ poolSizeMax: 7 })).toMatchObject({ appName: 'convoy', maxPoolSize: 7 });
  expect(clientOptions({ poolSizeMax: 7 }, new URLSearchParams('maxpoolsize=3'))).not.toHaveProperty('maxPoolSize');
});

test.each([
  ['minPoolSize=100', 100],
  ['minpoolsize=30&maxConnecting=1', 30],
  ['minPoolSize=5', 20],
])('raise the maximum of connections to the minimum that a connection string asks for: %s', (written, expected) => {
  expect(clientOptions({ poolSizeMax: 20 }, new URLSearchParams(written))).toMatchObject({ maxPoolSize: expected });
});
