import type { Document } from 'mongodb';
import { expectSame, expectThat, shown } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import type { Fixture } from '../framework/fixture.js';

/** The only matching document of a collection of the config database. */
async function configured(fixture: Fixture, find: string, filter: Document = {}): Promise<Document> {
  const [found] = await fixture.rows({ find, filter, limit: 1, singleBatch: true }, fixture.front, 'config');
  return found ?? {};
}

/** The id of the cluster, as it is shown. */
async function clusterId(fixture: Fixture): Promise<string> {
  if (fixture.isSharded) return shown((await configured(fixture, 'version')).clusterId);
  const { config } = await fixture.adminDone({ replSetGetConfig: 1 });
  return shown(((config as Document).settings as Document | undefined)?.replicaSetId);
}

/** What clusters report about themselves. */
export const clusters: readonly Probe[] = [
  {
    name: 'kind-is-shown',
    sentence: 'hello identifies routers by isdbgrid, and members of replica sets by the name of their set.',
    source: 'corpus 01-handshake',
    otherwise: 'Convoy mistakes the kind of a cluster.',
    async run(fixture) {
      const { msg, setName } = await fixture.adminDone({ hello: 1 });
      expectSame('isdbgrid', msg, fixture.isSharded ? 'isdbgrid' : undefined);
      expectThat('a set name unless it is a router', (typeof setName === 'string') !== fixture.isSharded, setName);
    },
  },
  {
    name: 'cluster-has-an-id',
    sentence: 'A sharded cluster has an id in config.version, and a replica set in its configuration.',
    source: 'corpus 02-catalog',
    otherwise: 'A migration may continue with another cluster than it started with.',
    async run(fixture) {
      const id = await clusterId(fixture);
      expectThat('an ObjectId of 24 digits', /^\{"\$oid":"[0-9a-f]{24}"\}$/.test(id), id);
    },
  },
  {
    name: 'shards-are-listed',
    sentence: 'listShards names each shard with its set and hosts.',
    topology: 'sharded',
    source: 'corpus 02-catalog',
    otherwise: 'Convoy cannot read the shards.',
    async run(fixture) {
      const { shards } = (await fixture.adminDone({ listShards: 1 })) as {
        shards?: { _id: unknown; host?: unknown }[];
      };
      expectThat(
        'a set and a host of each',
        shards?.length !== 0 && shards?.every(({ host }) => /^[^/]+\/[^/]+:\d+/.test(String(host))) === true,
        shards,
      );
    },
  },
  {
    name: 'databases-have-a-primary',
    sentence: 'config.databases has the primary shard of each database.',
    topology: 'sharded',
    source: 'corpus 02-catalog',
    otherwise: 'Convoy cannot determine which shard owns unsharded collections.',
    async run(fixture) {
      await fixture.collection();
      const { primary } = await configured(fixture, 'databases', { _id: fixture.db });
      const listed = (await fixture.adminDone({ listShards: 1 })).shards as { _id: unknown }[];
      expectThat(
        'one of the shards',
        listed.some(({ _id }) => _id === primary),
        primary,
      );
    },
  },
  {
    name: 'balancer-reports-its-state',
    sentence: 'balancerStatus reports whether the balancer is on, and whether it is in a round.',
    topology: 'sharded',
    source: 'corpus 02-catalog; manual: balancerStatus',
    otherwise: 'Chunks may move while Convoy copies.',
    async run(fixture) {
      const { mode, inBalancerRound } = await fixture.adminDone({ balancerStatus: 1 });
      expectThat('a mode', ['full', 'autoSplitOnly', 'off'].includes(mode as string), mode);
      expectThat('whether it is in a round', typeof inBalancerRound === 'boolean', inBalancerRound);
    },
  },
  {
    name: 'condition-has-one-winner',
    sentence: 'If two concurrent updates have the same condition, and each makes it false, exactly one matches.',
    source: 'manual: atomicity; corpus 03-crud',
    otherwise: 'Two processes may both act as the owner of one part.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, epoch: 1 }]);
      const take = {
        update: name,
        updates: [{ q: { _id: 1, epoch: 1 }, u: { $inc: { epoch: 1 } } }],
        writeConcern: { w: 'majority' },
      };
      const replies = await Promise.all([fixture.done(take), fixture.done(take)]);
      expectSame('documents that matched', replies.map(({ n }) => n as number).sort(), [0, 1]);
    },
  },
];
