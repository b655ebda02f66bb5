import { MongoClient } from 'mongodb';
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

test.each([
  ['socketTimeoutMS=2000', { socketTimeoutMS: 0 }],
  ['waitQueueTimeoutMS=1', { waitQueueTimeoutMS: 10_000 }],
  ['waitQueueTimeoutMS=20000', { waitQueueTimeoutMS: 20_000 }],
  ['waitQueueTimeoutMS=0', { waitQueueTimeoutMS: 0 }],
  ['appName=mine', { socketTimeoutMS: 0, waitQueueTimeoutMS: 60_000 }],
])('no limit of a connection string ends what a server takes long for: %s', (written, expected) => {
  const client = new MongoClient(`mongodb://a.test/?${written}`, clientOptions({}, new URLSearchParams(written)));
  expect(client.options).toMatchObject(expected);
});
