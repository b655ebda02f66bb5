import { Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { NodeClient } from '../../../src/cluster/node-client.js';
import { historyLost } from '../../../src/cluster/oplog-window.js';
import { clientWith } from '../model/client-with.js';
import { never } from '../model/parts.js';

const needed = 1_700_000_000n << 32n;

const shard = (label: string, command: NodeClient['command']): NodeClient => clientWith({ label, command });

describe('the loss of history', () => {
  it('is reported with the required time and how far each oplog reaches back', async () => {
    const reachesTo =
      (t: number): NodeClient['command'] =>
      () =>
        Promise.resolve({ cursor: { firstBatch: [{ ts: new Timestamp({ t, i: 1 }) }] } });
    const error = await historyLost(
      [shard('a', reachesTo(1_700_000_060)), shard('b', reachesTo(1_700_000_120))],
      needed,
      never,
    );
    expect(error).toMatchObject({ error: 'oplogHistoryLost' });
    expect(error.errorDescription).toContain(
      'from 2023-11-14T22:13:20.000Z. The oplog reaches back to 2023-11-14T22:14:20.000Z (a), ' +
        '2023-11-14T22:15:20.000Z (b).',
    );
  });

  it('is reported without oplogs that may not be read', async () => {
    const error = await historyLost([shard('a', () => Promise.reject(new Error('not authorized')))], needed, never);
    expect(error).toMatchObject({ error: 'oplogHistoryLost' });
    expect(error.errorDescription).toContain(
      '2023-11-14T22:13:20.000Z. The oplog of the source does not reach back that far.',
    );
  });
});
