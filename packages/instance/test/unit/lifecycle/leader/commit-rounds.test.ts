import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { type Document, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { BuildsUnderWay } from '../../../../src/catalog/index-builds.js';
import { drainRounds } from '../../../../src/lifecycle/leader/commit-rounds.js';
import type { LeaderDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import type { CommitRound, MigrationRecord } from '../../../../src/store/migration-record.js';
import { Condition } from '../../../../src/async/waiting.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { recordWith, roundWith, taskWith } from '../../model/migration-state.js';
import { never, once, settled } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { DdlLeader } from '../../../../src/lifecycle/leader/ddl-leader.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';

let rounds: CommitRound[];
let totals_bytes: MigrationRecord['estimatedTotalBytes'][];
let notes: number;
/** How often a check finds a transaction open. */
let transactions: number;
let now_ms: number;
/** The source's time, in seconds. */
const source_seconds = 1_000;
/** What a task reports of a round: changes above its time, after this many notes on the source. */
let answerOf: (round: number) => { eventsAbove: number; afterNotes: number };
let changedAfter: (time: bigint) => boolean;
let untilApplied: () => Promise<void>;
/** Looks at the source's block that find it gone, and how often it was set. */
let looksWithoutBlock: number;
let blocked: number;
let pauses_ms: number[];
let roundsAtPauses: number[];
/** Called after every note and every write of the record. */
let changed: Condition;
let deps: LeaderDependencies;
/** The copied bytes that the task has stored once it has drained. */
const copied_bytes = 4_096;

beforeEach(() => {
  [rounds, totals_bytes, notes, now_ms, transactions] = [[], [], 0, 0, 0];
  answerOf = () => ({ eventsAbove: 0, afterNotes: 0 });
  changedAfter = () => false;
  untilApplied = () => Promise.resolve();
  [pauses_ms, roundsAtPauses, looksWithoutBlock, blocked] = [[], [], 0, 0];
  changed = new Condition();
  const task = taskWith({ _id: 'rs' });
  const view: MigrationView = { record: recordWith({ taskIds: ['rs'] }), tasks: new Map([['rs', task]]) };
  const answer = (): void => {
    const round = rounds.at(-1)?.round ?? 0;
    const { eventsAbove, afterNotes } = answerOf(round);
    if (round > 0 && notes >= afterNotes)
      Object.assign(task, { drained: { round, eventsAbove }, copied: { bytes: copied_bytes, documents: 1 } });
    changed.changed();
  };
  const note = (): Document => {
    notes += 1;
    answer();
    return { operationTime: new Timestamp({ t: source_seconds, i: notes }) };
  };
  const sleep = (pause_ms: number): Promise<void> => {
    roundsAtPauses.push(rounds.length);
    pauses_ms.push(pause_ms);
    return settled();
  };
  const nothing = () => ({ databases: [] });
  const open = (): Document => ({
    cursor: { firstBatch: transactions-- > 0 ? [{ _id: null, found: [{ txnNumber: 1 }] }] : [] },
  });
  const block = (): Document => ({
    cursor: { firstBatch: looksWithoutBlock-- > 0 ? [] : [{ _id: '', blockUserWrites: true }] },
  });
  const setUserWriteBlockMode = (): Document => ({ ok: (blocked += 1) });
  const answers = { appendOplogNote: note, listDatabases: nothing, aggregate: open, find: block };
  const source = fakeCluster({
    router: new FakeNodeClient('source', { ...answers, setUserWriteBlockMode }),
    kind: 'replicaSet',
    access: 'direct',
    shardIds: ['rs'],
    shards: new Map([['rs', new FakeNodeClient('rs', { appendOplogNote: note })]]),
  });
  deps = depsWith({
    leaderEpoch: 1,
    builds: new BuildsUnderWay(),
    runtime: {
      retrying: once,
      clock: { sleep, monotonic_ms: () => (now_ms += 1_000) },
      logger: { warn: () => undefined },
    },
    source,
    destination: fakeCluster({
      router: new FakeNodeClient('destination', { listDatabases: nothing }),
      kind: 'replicaSet',
      shardIds: ['rs'],
    }),
    fleet: { wake: () => undefined },
    metadata: { deleteMany: () => Promise.resolve(), upsertMany: () => Promise.resolve() },
    watch: {
      view,
      until: (condition: (seen: MigrationView) => boolean, signal: AbortSignal) =>
        changed.until(() => condition(view), signal).then(() => view),
    },
    records: {
      read: () => Promise.resolve(view.record),
      updateAsLeader: (_epoch: number, { commit, estimatedTotalBytes }: Partial<MigrationRecord>) => {
        if (commit) rounds.push(commit);
        totals_bytes.push(estimatedTotalBytes ?? null);
        answer();
        return Promise.resolve();
      },
    },
  });
});

async function commit(): Promise<void> {
  const ddlChanges = {
    holdDdlWatermark: () => undefined,
    untilApplied: () => untilApplied(),
    compare: () => Promise.resolve(false),
    readSource: () => Promise.resolve([]),
    changedAfter: (time: bigint) => changedAfter(time),
  };
  await drainRounds(deps, only<DdlLeader>(ddlChanges), never);
}

/** A round that an earlier leader began this many seconds before the source's present time. */
function begin(round: number, age_seconds: number): void {
  const commit = roundWith({ round, time: new Timestamp({ t: source_seconds - age_seconds, i: 1 }) });
  rounds.push(commit);
  deps.watch.view.record.commit = commit;
}

const made = (): [number, boolean][] => rounds.map(({ round, sealed }) => [round, sealed]);

describe('the commit time', () => {
  it('is sealed when all tasks have drained it and nothing was seen above', async () => {
    await commit();
    expect(made()).toEqual([
      [1, false],
      [1, true],
    ]);
  });

  it('is taken once the transactions that were open before have ended, in every round', async () => {
    transactions = 2;
    answerOf = (round) => {
      if (round === 1) transactions = 1;
      return { eventsAbove: round < 2 ? 1 : 0, afterNotes: 0 };
    };
    await commit();
    expect([roundsAtPauses, made().at(-1)]).toEqual([
      [0, 0, 1, 1],
      [2, true],
    ]);
  });

  it('is sealed with the sum of the copied bytes that the tasks have stored when they had drained', async () => {
    await commit();
    expect(totals_bytes).toEqual([null, copied_bytes]);
  });

  it('is a later one while the source shows writes above the last', async () => {
    answerOf = (round) => ({ eventsAbove: round < 3 ? 2 : 0, afterNotes: 0 });
    await commit();
    expect(made()).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [3, true],
    ]);
    const times = rounds.slice(0, 3).map(({ time }) => time.toBigInt());
    expect(times).toEqual([...times].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(times).size).toBe(3);
  });

  it('is a later one while DDL changes appear above the last', async () => {
    changedAfter = () => rounds.length < 2;
    await commit();
    expect(made()).toEqual([
      [1, false],
      [2, false],
      [2, true],
    ]);
  });

  it('is a later one when the block of user writes was gone, which is set again before', async () => {
    const options = parseStartRequest({
      source: 'cluster0',
      destination: 'cluster1',
      enableUserWriteBlocking: true,
      verification: { enabled: false },
    });
    Object.assign(deps.watch.view.record, { options, phase: 'committing' });
    looksWithoutBlock = 2;
    answerOf = (round) => {
      if (round === 2) expect(blocked).toBe(1);
      return { eventsAbove: 0, afterNotes: 0 };
    };
    await commit();
    expect(made()).toEqual([
      [1, false],
      [2, false],
      [2, true],
    ]);
    expect(blocked).toBe(1);
  });

  it('is given up after five rounds, with an error', async () => {
    answerOf = () => ({ eventsAbove: 1, afterNotes: 0 });
    await expect(commit()).rejects.toMatchObject({ error: 'commitRoundsExceeded' });
    expect(rounds).toHaveLength(5);
  });

  it('is passed by idle streams because of notes on the source', async () => {
    answerOf = () => ({ eventsAbove: 0, afterNotes: 4 });
    await commit();
    expect(notes).toBeGreaterThanOrEqual(4);
    expect(made().at(-1)).toEqual([1, true]);
  });

  it('is passed by the DDL stream because of the same notes', async () => {
    let isApplied = false;
    answerOf = () => ({ eventsAbove: 0, afterNotes: isApplied ? 0 : Infinity });
    untilApplied = async () => {
      const taken = notes;
      await changed.until(() => notes > taken, never);
      isApplied = true;
    };
    await commit();
    expect(made()).toEqual([
      [1, false],
      [1, true],
    ]);
  });

  it('is followed by a pause, for stopping writers, when there were writes above it', async () => {
    answerOf = (round) => ({ eventsAbove: round < 3 ? 1 : 0, afterNotes: 0 });
    await commit();
    expect(pauses_ms).toEqual([500, 500]);
  });

  it('is replaced, however often, when a task is away for too long to read at it', async () => {
    answerOf = (round) => ({ eventsAbove: 0, afterNotes: round < 8 ? Infinity : 0 });
    await commit();
    expect(made().map(([round]) => round)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 8]);
    expect(made().at(-1)).toEqual([8, true]);
  });
});

describe('the commit time of an earlier leader', () => {
  it('stays, and no other is taken', async () => {
    begin(3, 10);
    const [{ time } = { time: null }] = rounds;
    await commit();
    expect(made()).toEqual([
      [3, false],
      [3, true],
    ]);
    expect(rounds.at(-1)?.time).toEqual(time);
  });

  it('is replaced when writes or DDL changes were seen above it', async () => {
    begin(3, 10);
    answerOf = (round) => ({ eventsAbove: round < 4 ? 1 : 0, afterNotes: 0 });
    await commit();
    expect(made()).toEqual([
      [3, false],
      [4, false],
      [4, true],
    ]);
  });

  it('is replaced when it is too old for a task that was away', async () => {
    begin(3, 120);
    await commit();
    expect(made()).toEqual([
      [3, false],
      [4, false],
      [4, true],
    ]);
  });
});
