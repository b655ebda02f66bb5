import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { databaseOf } from '../../../../src/cluster/driver/databases.js';

const client = (): MongoClient => new MongoClient('mongodb://127.0.0.1:1/');

test('a client keeps its databases, and no other has them', () => {
  const [one, other] = [client(), client()];
  const shop = databaseOf(one, 'shop');
  expect(shop.databaseName).toBe('shop');
  expect(databaseOf(one, 'shop')).toBe(shop);
  expect(databaseOf(one, 'admin').databaseName).toBe('admin');
  expect(databaseOf(other, 'shop')).not.toBe(shop);
});

test('a client keeps no more than a thousand', () => {
  const one = client();
  const first = databaseOf(one, 'first');
  for (let number = 0; number < 1_000; number += 1) databaseOf(one, `database${number}`);
  expect(databaseOf(one, 'first')).not.toBe(first);
});
