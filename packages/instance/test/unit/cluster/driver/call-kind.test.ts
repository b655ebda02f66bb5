import { Long } from 'mongodb';
import { expect, it } from 'vitest';
import { kindOf } from '../../../../src/cluster/driver/call-kind.js';

it.each([
  [{ find: 'orders', filter: {} }, 'find of shop.orders'],
  [{ getMore: Long.fromNumber(7), collection: 'orders' }, 'getMore of shop.orders'],
  [{ getMore: Long.fromNumber(7), collection: '$cmd.aggregate' }, 'getMore of a change stream'],
  [{ aggregate: 1, pipeline: [{ $changeStream: {} }] }, 'aggregate of a change stream'],
  [{ aggregate: 'orders', pipeline: [{ $changeStream: {} }] }, 'aggregate of a change stream'],
  [{ aggregate: 1, pipeline: [{ $currentOp: {} }] }, 'aggregate of $currentOp'],
  [{ aggregate: 'orders', pipeline: [{ $indexStats: {} }] }, 'aggregate of shop.orders'],
  [{ appendOplogNote: 1 }, 'appendOplogNote'],
])('%j is known as %s', (command, kind) => {
  expect(kindOf('shop', command)).toBe(kind);
});
