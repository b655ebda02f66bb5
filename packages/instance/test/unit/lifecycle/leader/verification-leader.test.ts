import { Timestamp } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import type { NodeClient } from '../../../../src/cluster/node-client.js';
import { verifyDocuments } from '../../../../src/lifecycle/leader/verification-leader.js';
import type { MigrationDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import type { MigrationView } from '../../../../src/lifecycle/migration/migration-watch.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import type { TaskRecord } from '../../../../src/store/task-record.js';
import { fakeCluster } from '../../fake-node-client.js';
import { never, once } from '../../model/parts.js';

const commitTime = new Timestamp({ t: 100, i: 1 });
const destinationTime = new Timestamp({ t: 200, i: 1 });
const leaderEpoch = 7;

/** The requested look, as stored. */
let asked: MigrationRecord['verification'];
let requests: number;
let mismatches: number;

beforeEach(() => {
  [asked, requests, mismatches] = [null, 0, 0];
});

/** One look of a leader; every task answers at once. */
async function look(restored: boolean): Promise<void> {
  const options = { verification: { enabled: true } };
  const viewOf = (): MigrationView => {
    const record = {
      options,
      taskIds: ['rs'],
      commit: { time: commitTime },
      ddlChanges: { known: 0, done: 0 },
      verification: asked,
    };
    const task = { verification: { planned: 0, answered: asked?.number ?? null, mismatches } };
    return { record: record as unknown as MigrationRecord, tasks: new Map([['rs', task as unknown as TaskRecord]]) };
  };
  const command = (): Promise<unknown> =>
    Promise.resolve({ ok: 1, operationTime: destinationTime, $clusterTime: { clusterTime: destinationTime } });
  const openCursor = (): Promise<unknown> => Promise.resolve({ close: () => Promise.resolve() });
  const deps = {
    runtime: { retrying: once },
    destination: fakeCluster({ router: { label: 'router', command, openCursor } as unknown as NodeClient }),
    fleet: { wake: () => undefined },
    metadata: { findSome: () => Promise.resolve([]) },
    watch: {
      get view() {
        return viewOf();
      },
      until: (condition: (view: MigrationView) => boolean) =>
        condition(viewOf()) ? Promise.resolve(viewOf()) : Promise.reject(new Error('nobody answers')),
    },
    records: {
      updateAsLeader: (_epoch: number, set: Partial<MigrationRecord>) => {
        requests += 1;
        asked = set.verification;
        return Promise.resolve();
      },
    },
  };
  await verifyDocuments(deps as unknown as MigrationDependencies, leaderEpoch, restored, never);
}

function before(restored: boolean, source = commitTime): void {
  asked = { number: 3, source, destination: destinationTime, restored };
}

it.each([false, true])(
  'a leader waits for a look that an earlier leader has asked for, and asks for none, restored: %s',
  async (restored) => {
    before(restored);
    await look(restored);
    expect({ requests, number: asked?.number }).toEqual({ requests: 0, number: 3 });
  },
);

it.each([
  ['the first one', () => undefined, 1],
  ['the look after attributes were restored', () => before(false), 4],
  ['the look for another commit time', () => before(true, new Timestamp({ t: 90, i: 1 })), 4],
])('%s is asked for', async (_what, prepare, number) => {
  prepare();
  await look(true);
  expect({ requests, asked }).toMatchObject({ requests: 1, asked: { number, restored: true } });
});

it('mismatches found for an earlier leader fail the commit', async () => {
  before(true);
  mismatches = 2;
  await expect(look(true)).rejects.toMatchObject({ error: 'verificationFailed' });
});
