import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { databaseOf } from '../../../../src/cluster/driver/databases.js';

const client = (): MongoClient => new MongoClient('mongodb://127.0.0.1:1/');

test('the databases of a client are cached, apart from those of others', () => {
  const [one, other] = [client(), client()];
  const shop = databaseOf(one, 'shop');
  expect(shop.databaseName).toBe('shop');
  expect(databaseOf(one, 'shop')).toBe(shop);
  expect(databaseOf(one, 'admin').databaseName).toBe('admin');
  expect(databaseOf(other, 'shop')).not.toBe(shop);
});

test('the cache of a client has at most a thousand', () => {
  const one = client();
  const first = databaseOf(one, 'first');
  for (let number = 0; number < 1_000; number += 1) databaseOf(one, `database${number}`);
  expect(databaseOf(one, 'first')).not.toBe(first);
});
