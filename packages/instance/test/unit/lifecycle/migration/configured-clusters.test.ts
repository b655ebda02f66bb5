import { MongoNetworkError } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { Waits } from '../../../../src/cluster/calls-in-flight.js';
import type { ClusterClient } from '../../../../src/cluster/node-client.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import type { ClusterName, Connect } from '../../../../src/lifecycle/migration/clusters.js';
import { ConfiguredClusters } from '../../../../src/lifecycle/migration/configured-clusters.js';
import { createLogger } from '../../../../src/logging/logger.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { awayError, FakeNodeClient, fakeCluster, serverError } from '../../fake-node-client.js';
import { recordWith, reversalWith } from '../../model/migration-state.js';
import { never, once, settled, times } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';

const ids = { cluster0: '00', cluster1: '01' };
const committed = recordWith({
  phase: 'committed',
  source: { name: 'cluster0', clusterId: '00' },
  destination: { name: 'cluster1', clusterId: '01' },
});
const opening: MigrationRecord = { ...committed, phase: 'opening' };
const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://source', cluster1: 'mongodb://destination' } });

/** The record on each cluster; a cluster that is away does not answer before it comes back. */
let records: Record<ClusterName, MigrationRecord | null>;
let comesBack: Record<ClusterName, Promise<void>>;
let closed: string[];
/** Logged errors by cluster. */
let logged: unknown[];
let clusters: ConfiguredClusters;

const connect: Connect = async (_config, name, _access, signal) => {
  await Promise.race([comesBack[name], new Promise((_resolve, reject) => signal.addEventListener('abort', reject))]);
  const router = new FakeNodeClient(name, {
    find: () => ({ cursor: { firstBatch: [records[name]].filter((record) => record !== null) } }),
  });
  return {
    ...fakeCluster({ router, name, clusterId: ids[name] }),
    close: () => Promise.resolve(void closed.push(name)),
  } satisfies ClusterClient;
};

beforeEach(() => {
  records = { cluster0: null, cluster1: null };
  comesBack = { cluster0: Promise.resolve(), cluster1: Promise.resolve() };
  [closed, logged] = [[], []];
  clusters = new ConfiguredClusters(only<Runtime>({ config, retrying: once, logger, waits: new Waits() }), connect);
});

/** Takes the errors of a log. */
const logger = createLogger({
  verbosity: 'ERROR',
  stream: {
    write: (line) => {
      const { event, cluster } = JSON.parse(line) as Record<string, unknown>;
      logged.push([event, cluster]);
    },
  },
});

const connected = (): string[] => clusters.connected.map(([name]) => name);

describe('a starting instance', () => {
  it.each([
    ['committed', committed],
    ['being opened', opening],
  ] as const)('does not wait for the source of a migration that is %s', async (_, record) => {
    records.cluster1 = record;
    comesBack.cluster0 = new Promise(() => undefined);
    await clusters.open(never);
    expect(connected()).toEqual(['cluster1']);
    expect(clusters.ids).toBeNull();
    expect(() => clusters.get('cluster0')).toThrow('notReady');
  });

  it('spares one that refuses the connection permanently, too', async () => {
    records.cluster1 = committed;
    comesBack.cluster0 = Promise.reject(new Error('querySrv ENOTFOUND'));
    await clusters.open(never);
    expect(connected()).toEqual(['cluster1']);
  });

  it.each<[string, Partial<MigrationRecord>]>([
    ['that is running', { phase: 'committing' }],
    ['that has failed', { phase: 'committing', failure: { error: 'writeRefused', errorDescription: '' } }],
    [
      'whose state is on the source, since it was reversed',
      { source: committed.destination, destination: committed.source, reversal: reversalWith({ turns: 1 }) },
    ],
    ['of other clusters', { destination: { name: 'cluster1', clusterId: '09' } }],
    ['of clusters with other names', { destination: { name: 'cluster0', clusterId: '01' } }],
  ])('waits for both of a migration %s', async (_, changes) => {
    records.cluster1 = { ...committed, ...changes };
    const away = awayError();
    comesBack.cluster0 = Promise.reject(away);
    await expect(clusters.open(never)).rejects.toBe(away);
    comesBack.cluster0 = Promise.resolve();
    await clusters.open(never);
    expect(connected()).toEqual(['cluster1', 'cluster0']);
    expect(clusters.ids).toEqual(ids);
  });
});

it('reports what it waits for until it is there, with hosts only for those who may see them', async () => {
  let comeBack: () => void = () => undefined;
  comesBack.cluster1 = new Promise((resolve) => (comeBack = resolve));
  const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const away = awayError({ 'db.example:27017': new MongoNetworkError('connect', { cause }) });
  let tries = 0;
  const waiting = new ConfiguredClusters(
    only<Runtime>({ config, logger, retrying: times(2), waits: new Waits() }),
    async (config, name, access, signal) =>
      name === 'cluster0' && (tries += 1) === 1
        ? Promise.reject(away)
        : connect(config, name === 'cluster0' ? 'cluster1' : 'cluster0', access, signal),
  );
  const opened = waiting.open(never);
  await expect.poll(() => tries).toBe(2);
  expect(waiting.warnings).toEqual([
    {
      name: 'waitingForCluster',
      description:
        'cluster0 cannot be reached: db.example:27017: the connection was refused (ECONNREFUSED). ' +
        'Check the port, and that the server runs and listens on this address. The instance tries again.',
    },
  ]);
  expect(waiting.waitingFor).toContain('cluster0 cannot be reached: the connection was refused (ECONNREFUSED)');
  expect(waiting.waitingFor).not.toContain('db.example');
  comeBack();
  await opened;
  expect(waiting.warnings).toEqual([]);
});

describe('one that refuses while the other one is away', () => {
  const refused = serverError(18, 'AuthenticationFailed');
  let comeBack: () => void;
  let opened: Promise<void>;

  beforeEach(async () => {
    comesBack.cluster0 = Promise.reject(refused);
    comesBack.cluster1 = new Promise((resolve) => (comeBack = resolve));
    opened = clusters.open(never);
    await settled();
  });

  it('is reported at once, and ends the start when the other one needs it', async () => {
    expect(clusters.refusal).toBe('cluster0 refuses the connection (AuthenticationFailed (18)); see the log.');
    expect(logged).toEqual([['clusterRefused', 'cluster0']]);
    comeBack();
    await expect(opened).rejects.toBe(refused);
  });

  it('is spared when the other one no longer needs it', async () => {
    records.cluster1 = committed;
    comeBack();
    await opened;
    expect([connected(), clusters.refusal]).toEqual([['cluster1'], null]);
  });
});

it('one that is spared while it is being connected to is reported nowhere', async () => {
  records.cluster1 = committed;
  comesBack.cluster0 = new Promise(() => undefined);
  await clusters.open(never);
  await settled();
  expect([clusters.refusal, logged]).toEqual([null, []]);
});

it('one that was spared is connected to when it is needed', async () => {
  records.cluster1 = committed;
  comesBack.cluster0 = Promise.reject(new Error('away'));
  await clusters.open(never);
  comesBack.cluster0 = Promise.resolve();
  expect((await clusters.reach('cluster0', never)).name).toBe('cluster0');
  expect(clusters.ids).toEqual(ids);
  await clusters.close();
  expect(closed).toEqual(['cluster1', 'cluster0']);
});
