import { Int32 } from 'bson';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Value } from '../../../src/bson/value.js';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';
import { doc } from '../../../src/node/doc-fields.js';
import { errorName } from '../../../src/node/error-name.js';
import { WireClient } from '../../conformance/wire-client.js';

let cluster: Cluster;
let router: WireClient;
let shard: WireClient;

beforeAll(async () => {
  cluster = await startWholeCluster({ shards: 1 });
  router = await WireClient.connect(cluster.router);
  shard = await WireClient.connect(cluster.shards[0] ?? '');
  const documents = [1, 2, 3].map((id) => doc(['_id', new Int32(id)]));
  await router.run('db', doc(['insert', 'c'], ['documents', documents]));
});

afterAll(async () => {
  router.close();
  shard.close();
  await cluster.close();
});

describe('a command', () => {
  it.each(['collstats', 'findandmodify', 'datasize'])('is also known as %s', async (name) => {
    const first = name === 'datasize' ? 'db.c' : 'c';
    for (const client of [router, shard]) {
      const reply = await client.run(
        'db',
        doc([name, first], ['query', doc(['_id', new Int32(9)])], ['update', doc(['a', new Int32(1)])]),
      );
      expect(reply.get('errmsg')).toBeUndefined();
    }
  });

  it('of the database admin is refused in others, by nodes that have it', async () => {
    const refused = {
      code: new Int32(13),
      codeName: 'Unauthorized',
      errmsg: 'listDatabases may only be run against the admin database.',
    };
    const listing = doc(['listDatabases', new Int32(1)]);
    expect(Object.fromEntries(await router.run('db', listing))).toMatchObject(refused);
    expect(Object.fromEntries(await shard.run('db', listing))).toMatchObject(refused);
    expect((await shard.run('db', doc(['listShards', new Int32(1)]))).get('code')).toEqual(new Int32(59));
  });

  it('that is not simulated is refused by name', async () => {
    const command = doc(['explain', doc(['find', 'c'])]);
    for (const client of [router, shard])
      expect(Object.fromEntries(await client.run('db', command))).toMatchObject({
        code: new Int32(115),
        errmsg: 'explain is not part of this simulation',
      });
  });

  it.each<[string, Value]>([
    ['$where', doc(['$where', 'true'])],
    ['$near', doc(['a', doc(['$near', [0, 0].map((at) => new Int32(at))])])],
    ['$function', doc(['$expr', doc(['$function', new Map()])])],
  ])('with %s is refused by name', async (name, filter) => {
    const reply = await router.run('db', doc(['find', 'c'], ['filter', filter]));
    expect(reply.get('code')).toEqual(new Int32(115));
    expect(reply.get('errmsg')).toContain(`${name} is not part of this simulation`);
  });
});

it('codes have their names, and those of which none is known are refused', () => {
  expect([107, 175, 286, 11000, 4890500].map(errorName)).toEqual([
    'LockFailed',
    'QueryPlanKilled',
    'ChangeStreamHistoryLost',
    'DuplicateKey',
    'Location4890500',
  ]);
  expect(() => errorName(179)).toThrow('error code 179 is not part of this simulation');
});
