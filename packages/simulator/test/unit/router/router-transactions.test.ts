import { Binary, Long } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { ClusterClock } from '../../../src/node/clock.js';
import { ServerVersion } from '../../../src/node/server-version.js';
import { RouterTransactions } from '../../../src/router/router-transactions.js';

function statement(txnNumber: number, fields: readonly [string, Value][] = []): Doc {
  const lsid = new Map([['id', new Binary(Buffer.alloc(16, 1), Binary.SUBTYPE_UUID)]]);
  return new Map<string, Value>([
    ['find', 'c'],
    ['lsid', lsid],
    ['txnNumber', Long.fromInt(txnNumber)],
    ['autocommit', false],
    ...fields,
  ]);
}

const start: [string, Value] = ['startTransaction', true];

describe('what a router knows of a transaction', () => {
  it('outlives a failure: a shard that is asked for the first time begins it', () => {
    const transactions = new RouterTransactions(new ClusterClock(() => 1_700_000_000_000), ServerVersion.parse('5.0'));
    const transaction = transactions.enter(statement(1, [start]));
    transactions.joined('shard0', statement(1, [start]));
    if (transaction !== undefined) transaction.gaveUp = true;
    expect(transactions.enter(statement(1))).toBe(transaction);
    expect(transactions.joined('shard1', statement(1)).get('startTransaction')).toBe(true);
    expect(transactions.joined('shard0', statement(1)).has('startTransaction')).toBe(false);
    transaction?.noteReply('shard1', false);
    expect(transaction?.shards('unheard')).toEqual(['shard0', 'shard1']);
  });

  it('does not start twice, and has the read concern of its first statement alone', () => {
    const transactions = new RouterTransactions(new ClusterClock(() => 1_700_000_000_000), ServerVersion.parse('5.0'));
    transactions.enter(statement(1, [start]));
    expect(() => transactions.enter(statement(1, [start]))).toThrow('already started');
    expect(() => transactions.enter(statement(1, [['readConcern', new Map([['level', 'local']])]]))).toThrow(
      'Only the first command',
    );
    expect(() => transactions.enter(statement(2))).toThrow('cannot continue txnId 1');
  });
});
