import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../../src/cluster/cluster.js';
import { type ReplicaSet, startReplicaSet } from '../../../src/cluster/replica-set.js';
import { describedActions } from '../../conformance/described-actions.js';
import { type PlayedStep, Replay } from '../../conformance/replay.js';
import { WireClient } from '../../conformance/wire-client.js';

/** Steps of each file whose replies must equal the recorded ones, at least. Raise a number when more are equal. */
const equalMin: Readonly<Record<string, number>> = {
  '01-handshake': 46,
  '02-catalog': 113,
  '03-crud': 32,
  '04-events-documents': 113,
  '05-events-ddl': 91,
  '06-resume-and-errors': 41,
  '08-reads-at-a-time': 61,
  '09-shard-key-hashes': 47,
  '10-initial-distribution': 77,
  '11-transactions': 15,
  '12-fencing': 27,
  '13-orphans': 27,
  '14-replica-set': 39,
  '15-attributes': 83,
};

/** The files that were recorded on one cluster, in the order in which they were. */
const groups = [
  ['01-handshake', '02-catalog', '03-crud', '04-events-documents', '05-events-ddl', '06-resume-and-errors'],
  ['08-reads-at-a-time', '09-shard-key-hashes', '10-initial-distribution', '11-transactions'],
  ['12-fencing', '13-orphans'],
  ['15-attributes'],
];

/** Idle streams move on fast, so that the tests need not wait for them. */
const noopIntervalMs = 20;

describe.each(groups)('sharded cluster, from %s on', (...files) => {
  let cluster: Cluster;
  let replay: Replay;
  const clients = new Map<string, WireClient>();

  beforeAll(async () => {
    cluster = await startCluster({ shards: 2, noopIntervalMs });
    clients.set('router', await WireClient.connect(cluster.router));
    for (const [index, host] of cluster.shards.entries()) clients.set(`shard${index}`, await WireClient.connect(host));
    replay = new Replay(clients, () => cluster.catalog.clock.current(), describedActions);
  });

  afterAll(async () => {
    for (const client of clients.values()) client.close();
    await cluster.close();
  });

  it.each(files)('%s', async (file) => expectEqual(file, await replay.play(file)), 120_000);
});

describe('plain replica set', () => {
  let set: ReplicaSet;
  let client: WireClient;

  beforeAll(async () => {
    set = await startReplicaSet({ noopIntervalMs });
    client = await WireClient.connect(set.host);
  });

  afterAll(async () => {
    client.close();
    await set.close();
  });

  it('14-replica-set', async () => {
    const replay = new Replay(new Map([['replicaset', client]]), () => set.member.shard.lastAppliedTime(), describedActions);
    expectEqual('14-replica-set', await replay.play('14-replica-set'));
  }, 60_000);
});

function expectEqual(file: string, steps: readonly PlayedStep[]): void {
  const equal = steps.filter((step) => step.equal).length;
  report(file, steps, equal);
  expect(equal).toBeGreaterThanOrEqual(equalMin[file] ?? 0);
}

/** With CONFORMANCE_SHOW=1 (or a file's name) prints the counts and every difference. */
function report(file: string, steps: readonly PlayedStep[], equal: number): void {
  const wanted = process.env['CONFORMANCE_SHOW'];
  if (wanted === undefined) return;
  process.stdout.write(`${file}: ${equal} of ${steps.length} equal\n`);
  if (wanted !== '1' && wanted !== file) return;
  for (const { step, expected, actual } of steps.filter((each) => !each.equal)) {
    const command = JSON.stringify(step.command).slice(0, 300);
    process.stdout.write(`  step ${step.step} on ${step.on ?? ''} ${command}\n    recorded ${expected.slice(0, 1500)}\n    answered ${actual.slice(0, 1500)}\n`);
  }
}
