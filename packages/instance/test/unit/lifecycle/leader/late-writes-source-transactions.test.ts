import { Binary, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { transactionsWarning, untilTransactionsEnd } from '../../../../src/lifecycle/leader/late-writes.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';

describe('transactions that are open when a commit time is taken', () => {
  let warned: (string | undefined)[];

  /**
   * @param looks sessions with open transactions at each check; the last one stays
   * @returns the number of checks
   */
  async function wait(looks: number[][], step_ms: number, warnings: MigrationRecord['warnings'] = []): Promise<number> {
    let [now_ms, asked] = [0, 0];
    warned = [];
    const view = viewWith({ warnings });
    const transaction = (session: number): Document => ({
      lsid: { id: new Binary(Buffer.alloc(16, session), 4) },
      txnNumber: 1,
    });
    const aggregate = (): Document => {
      const found = (looks[asked] ?? looks.at(-1) ?? []).map(transaction);
      asked += 1;
      return { cursor: { firstBatch: found.length === 0 ? [] : [{ _id: null, found }] } };
    };
    const updateAsLeader = (_epoch: number, set: Partial<MigrationRecord>): Promise<void> => {
      Object.assign(view.record, set);
      return Promise.resolve(void warned.push(view.record.warnings[0]?.name));
    };
    const clock = { monotonic_ms: () => now_ms, sleep: () => Promise.resolve(void (now_ms += step_ms)) };
    const deps = depsWith({
      leaderEpoch: 1,
      runtime: { retrying: once, clock, logger: { warn: () => undefined } },
      source: fakeCluster({
        router: new FakeNodeClient('source', { aggregate }),
        kind: 'sharded',
        shardIds: ['s0', 's1'],
      }),
      watch: { view, refresh: () => Promise.resolve(view) },
      records: { updateAsLeader },
    });
    await untilTransactionsEnd(deps, never);
    return asked;
  }

  it('hold the commit; later ones do not', async () => {
    expect(await wait([[]], 200)).toBe(1);
    expect(
      await wait(
        [
          [1, 2],
          [2, 3],
          [3, 4],
        ],
        200,
      ),
    ).toBe(3);
    expect(warned).toEqual([]);
  });

  it('cause a warning while they hold the commit for long', async () => {
    await wait([[1], [1], [1], []], 2_500);
    expect(warned).toEqual([transactionsWarning, undefined]);
  });

  it('fail the migration when they do not end', async () => {
    const description = expect.stringMatching(/^cluster0 has 1 transactions .*Kill the sessions/) as unknown;
    await expect(wait([[1]], 60_000)).rejects.toMatchObject({
      error: 'transactionsNotEnded',
      errorDescription: description,
    });
  });

  it('no longer cause a warning once a leader finds none, whichever leader has recorded it', async () => {
    await wait([[]], 200, [{ name: transactionsWarning, description: '' }]);
    expect(warned).toEqual([undefined]);
  });
});
