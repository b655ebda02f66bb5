import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { type Document, MongoServerError, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Clock, NoAnswerError, untilAborted } from '../../../../src/async/clock.js';
import type { CallOptions, NodeClient } from '../../../../src/cluster/node-client.js';
import type { Retrying } from '../../../../src/async/retry.js';
import { isBlocked } from '../../../../src/cluster/write-block.js';
import { applyWriteBlock, blocksAfterFailure, wantedBlocks } from '../../../../src/lifecycle/migration/write-blocks.js';
import {
  type MigrationPhase,
  migrationPhases,
  type MigrationRecord,
  type MigrationRecords,
} from '../../../../src/store/migration-record.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { recordWith, reversalWith } from '../../model/migration-state.js';
import { never, settled } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';

const failure = { error: 'retriesExhausted', errorDescription: '' } as const;

/** Where servers store a block, and its document. */
const stored = 'config.user_writes_critical_sections';
const standing = { _id: '', blockNewUserShardedDDL: true, blockUserWrites: true };

function recordIn(
  phase: MigrationPhase,
  more: Partial<MigrationRecord> = {},
  enableUserWriteBlocking = true,
): MigrationRecord {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking,
    verification: { enabled: false },
  });
  return recordWith({
    options,
    phase,
    source: { name: 'cluster0', clusterId: '01' },
    destination: { name: 'cluster1', clusterId: '02' },
    ...more,
  });
}

describe('which cluster refuses user writes', () => {
  it('is decided by the phase, and by a failure before the opening', () => {
    const shown = (record: MigrationRecord): unknown[] => Object.values(wantedBlocks(record));
    expect(migrationPhases.map((phase) => [phase, ...shown(recordIn(phase))])).toEqual([
      ['starting', null, true],
      ['syncing', null, true],
      ['committing', true, true],
      ['opening', true, false],
      ['committed', true, false],
      ['reversing', null, true],
    ]);
    expect(
      (['starting', 'syncing', 'committing'] as const).map((phase) => shown(recordIn(phase, { failure }))),
    ).toEqual([
      [null, true],
      [null, true],
      [false, true],
    ]);
  });

  it('is the destination until the time from which a reverse reads is recorded', () => {
    const opening = (openedAt: Timestamp | null): MigrationRecord =>
      recordIn('opening', { reversal: reversalWith({ openedAt }) });
    expect(wantedBlocks(opening(null))).toEqual({ source: true, destination: true });
    expect(wantedBlocks(opening(new Timestamp({ t: 6, i: 1 })))).toEqual({ source: true, destination: false });
  });

  it('is none where blocking was not requested', () => {
    for (const phase of migrationPhases)
      expect(wantedBlocks(recordIn(phase, {}, false))).toEqual({ source: null, destination: null });
  });

  it("is part of a failure's description", () => {
    expect(blocksAfterFailure(recordIn('syncing', { failure }))).toMatch(/^ The destination refuses/);
    expect(blocksAfterFailure(recordIn('committing', { failure }))).toMatch(
      /^ The source still refuses.*convoy unblock.* The destination refuses/,
    );
    expect(blocksAfterFailure(recordIn('committing', { failure, sourceReleased: true }))).toMatch(
      /^ The source takes writes again\. The destination refuses/,
    );
    expect(blocksAfterFailure(recordIn('committing', { failure }, false))).toBe('');
  });

  it('is described as for a running migration when only one process has failed', () => {
    for (const phase of ['syncing', 'committed'] as const) expect(blocksAfterFailure(recordIn(phase))).toBe('');
    expect(blocksAfterFailure(recordIn('committing'))).toMatch(
      /^ The source refuses the writes of users until the commit has ended/,
    );
    expect(blocksAfterFailure(recordIn('opening'))).toMatch(/commit is decided.*start the instances again/);
  });
});

describe('bringing a block into line', () => {
  let sent: unknown[];
  let records: (MigrationRecord | null)[];
  let refusal: number | null;
  let kind: 'replicaSet' | 'sharded';
  /** The documents of collections of the config database. */
  let noted: Record<string, Document[]>;
  /** The read concerns with which a block was looked for. */
  let looks: unknown[];
  /** Called when a command has reached the cluster. */
  let onSent: () => void;
  /** Commands wait for it before they answer. */
  let answered: Promise<void>;

  beforeEach(() => {
    answered = Promise.resolve();
    [kind, noted, looks] = ['replicaSet', {}, []];
    [sent, records, refusal, onSent] = [[], [], null, () => undefined];
  });

  function deps(): Parameters<typeof applyWriteBlock>[0] {
    const setUserWriteBlockMode = (_database: string, { global }: Document): Document => {
      sent.push(global);
      onSent();
      if (refusal !== null) throw new MongoServerError({ code: refusal, codeName: 'Unauthorized', message: '' });
      return { ok: 1 };
    };
    const find = (database: string, { find: name, readConcern }: Document): Document => {
      looks.push(readConcern);
      return { cursor: { firstBatch: noted[`${database}.${String(name)}`] ?? [] } };
    };
    const client = new FakeNodeClient('router', { setUserWriteBlockMode, find });
    const command = async (database: string, document: Document, options: CallOptions): Promise<Document> => {
      const reply = await client.command(database, document, options);
      if ('find' in document) return reply;
      await untilAborted(answered, options.signal);
      return reply;
    };
    const router: NodeClient = {
      label: client.label,
      command,
      openCursor: client.openCursor.bind(client),
      write: client.write.bind(client),
      close: client.close.bind(client),
    };
    const cluster = fakeCluster({ router, kind, shardIds: ['rs'] });
    const read = async (signal: AbortSignal): Promise<MigrationRecord | null> => {
      signal.throwIfAborted();
      return Promise.resolve((records.length > 1 ? records.shift() : records[0]) ?? null);
    };
    const retrying: Retrying = async (_what, operation, signal) => {
      signal.throwIfAborted();
      return operation();
    };
    return {
      runtime: only<Runtime>({ retrying }),
      source: { ...cluster, clusterId: '01' },
      destination: { ...cluster, clusterId: '02' },
      records: only<MigrationRecords>({ read }),
    };
  }

  it('sends what the record wants', async () => {
    records = [recordIn('committing')];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true]);
  });

  it('sends nothing where the record wants nothing', async () => {
    records = [recordIn('syncing')];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([]);
  });

  it('is reverted by a process that was frozen, when others have failed or opened meanwhile', async () => {
    records = [recordIn('committing'), recordIn('committing', { failure })];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true, false]);
    [sent, records] = [[], [recordIn('starting'), recordIn('committed')]];
    await applyWriteBlock(deps(), 'destination', never);
    expect(sent).toEqual([true, false]);
  });

  it('is reverted by a process that was frozen, when the migration was cleaned up meanwhile', async () => {
    records = [recordIn('committing'), null];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true, false]);
    [sent, records] = [[], [recordIn('committing'), recordIn('syncing', {}, false)]];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true, false]);
  });

  it('is checked again, and reverted, although the work has ended meanwhile', async () => {
    const ending = new AbortController();
    const replaced = new Error('replaced');
    records = [recordIn('committing'), recordIn('committing', { failure })];
    onSent = () => ending.abort(replaced);
    await expect(applyWriteBlock(deps(), 'source', ending.signal)).rejects.toBe(replaced);
    expect(sent).toEqual([true, false]);
  });

  it('is checked again even if the command is answered long after the end of the work', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [ending, replaced] = [new AbortController(), new Error('replaced')];
    let answer: () => void = () => undefined;
    answered = new Promise((resolve) => (answer = resolve));
    records = [recordIn('committing'), recordIn('committing', { failure })];
    onSent = () => ending.abort(replaced);
    const ended = expect(applyWriteBlock(deps(), 'source', ending.signal)).rejects.toBe(replaced);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(sent).toEqual([true]);
    answer();
    await ended;
    expect(sent).toEqual([true, false]);
  });

  describe('as a wish', () => {
    let outcomes: ({ error: unknown } | null)[];
    let passTime: () => void;

    beforeEach(() => {
      outcomes = [];
    });

    const wish = () => ({
      clock: only<Clock>({ sleep: () => new Promise<void>((resolve) => (passTime = resolve)) }),
      within_ms: 10_000,
      onOutcome: (outcome: { error: unknown } | null) => void outcomes.push(outcome),
    });

    it('is given up with its command when its time is over, and its possible effect is checked', async () => {
      answered = new Promise(() => undefined);
      records = [recordIn('committing'), null];
      const ended = applyWriteBlock(deps(), 'source', never, wish());
      await settled();
      expect([sent, outcomes]).toEqual([[true], []]);
      answered = Promise.resolve();
      passTime();
      await ended;
      expect(sent).toEqual([true, false]);
      expect(outcomes).toEqual([{ error: expect.any(NoAnswerError) as unknown }, null]);
    });

    it('does not count if its record cannot be read', async () => {
      const records = { read: () => Promise.reject(new Error('away')) };
      await expect(
        applyWriteBlock({ ...deps(), records: only<MigrationRecords>(records) }, 'source', never, wish()),
      ).rejects.toThrow('away');
      expect(outcomes).toEqual([]);
    });

    it('reports a refusal, and fails nothing', async () => {
      [records, refusal] = [[recordIn('committing')], 13];
      await applyWriteBlock(deps(), 'source', never, wish());
      expect(outcomes).toEqual([{ error: expect.objectContaining({ error: 'writeBlockingFailed' }) as unknown }]);
    });
  });

  it('does not start when the work has ended before', async () => {
    records = [recordIn('committing')];
    await expect(applyWriteBlock(deps(), 'source', AbortSignal.abort(failure))).rejects.toBe(failure);
    expect(sent).toEqual([]);
  });

  it('stays on a source that a reverse has made its destination, and leaves one that takes writes again', async () => {
    const reversed = {
      source: { name: 'cluster1', clusterId: '02' },
      destination: { name: 'cluster0', clusterId: '01' },
    };
    records = [recordIn('committing'), recordIn('syncing', reversed)];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true]);
    [sent, records] = [[], [recordIn('committing'), recordIn('committed', reversed)]];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true, false]);
    [sent, records] = [[], [recordIn('committing'), recordIn('syncing')]];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([true, false]);
  });

  it('counts on a replica set only when the member that leads has confirmed it with a majority', async () => {
    [kind, records, noted] = ['replicaSet', [recordIn('committing')], { [stored]: [standing] }];
    await applyWriteBlock(deps(), 'source', never);
    expect([looks, sent]).toEqual([[{ level: 'linearizable' }], []]);
  });

  it.each([187, 96])(
    'is looked at again, and not taken for one that nobody may see, after the code %i',
    async (code) => {
      const find = (): never => {
        throw new MongoServerError({ code, codeName: 'Code', message: '' });
      };
      const router = new FakeNodeClient('router', { find });
      const source = fakeCluster({ router, kind: 'replicaSet' });
      await expect(isBlocked(source, { signal: never })).rejects.toMatchObject({ code });
    },
  );

  it('that the user may not see is neither there nor gone', async () => {
    const find = (): never => {
      throw new MongoServerError({ code: 13, codeName: 'Unauthorized', message: '' });
    };
    const source = fakeCluster({ router: new FakeNodeClient('router', { find }), kind: 'replicaSet' });
    expect(await isBlocked(source, { signal: never })).toBe(null);
  });

  it('is not set again where it is active, and is lifted', async () => {
    noted = { [stored]: [{ ...standing, blockNewUserShardedDDL: false }] };
    records = [recordIn('committing')];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([]);
    noted = { [stored]: [{ ...standing, blockUserWritesReason: 'Unspecified' }] };
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([]);
    records = [recordIn('committing', { failure })];
    await applyWriteBlock(deps(), 'source', never);
    expect(sent).toEqual([false]);
  });

  describe('of a sharded cluster', () => {
    beforeEach(() => {
      [kind, records] = ['sharded', [recordIn('committing')]];
    });

    it('is not set again where the config server has recorded it', async () => {
      noted = { [stored]: [standing] };
      await applyWriteBlock(deps(), 'source', never);
      expect(sent).toEqual([]);
    });

    it.each<[string, Record<string, Document[]>]>([
      ['nothing is recorded', {}],
      ['only DDL changes are refused so far', { [stored]: [{ ...standing, blockUserWrites: false }] }],
      [
        'the config server is busy, perhaps with ending it',
        { [stored]: [standing], 'config.sharding_configsvr_coordinators': [{ _id: 1 }] },
      ],
      [
        'it is active for another reason',
        {
          [stored]: [{ ...standing, blockUserWritesReason: 'DiskUseThresholdExceeded' }],
        },
      ],
    ])('is set where %s', async (_why, documents) => {
      noted = documents;
      await applyWriteBlock(deps(), 'source', never);
      expect(sent).toEqual([true]);
    });
  });

  it.each([true, false])(
    "for another reason does not count as Convoy's own, and its reason is reported: wanted %s",
    async (wanted) => {
      [records, refusal] = [[recordIn('committing', wanted ? {} : { failure })], 20];
      noted = { [stored]: [{ ...standing, blockUserWritesReason: 'DiskUseThresholdExceeded' }] };
      const errorDescription = expect.stringMatching(
        /could not be .*They are blocked for the reason DiskUseThresholdExceeded, and not by Convoy/,
      ) as unknown;
      await expect(applyWriteBlock(deps(), 'source', never)).rejects.toMatchObject({
        error: 'writeBlockingFailed',
        errorDescription,
      });
      expect(sent).toEqual([wanted]);
    },
  );

  it('fails the migration when the cluster refuses', async () => {
    [records, refusal] = [[recordIn('committing')], 13];
    await expect(applyWriteBlock(deps(), 'source', never)).rejects.toMatchObject({
      error: 'writeBlockingFailed',
      errorDescription: expect.stringMatching(
        /could not be blocked: Unauthorized.*Give the user .* setUserWriteBlockMode/,
      ) as unknown,
    });
  });
});
