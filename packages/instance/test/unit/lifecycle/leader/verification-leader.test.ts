import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Timestamp } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { roundWith, verificationWith, viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';
import { verifyDocuments } from '../../../../src/lifecycle/leader/commit.js';

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
  const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: true } });
  const commit = roundWith({ time: commitTime, sealed: true });
  const viewOf = (): MigrationView =>
    viewWith({ options, commit, verification: asked ?? null }, [
      { verification: verificationWith({ answered: asked?.number ?? 0, mismatches }) },
    ]);
  const answer = () => ({ operationTime: destinationTime, $clusterTime: { clusterTime: destinationTime } });
  const deps = depsWith({
    leaderEpoch,
    runtime: { retrying: once },
    destination: fakeCluster({ router: new FakeNodeClient('router', answer) }),
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
  });
  await verifyDocuments(deps, restored, never);
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
