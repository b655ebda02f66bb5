import { Binary, Int32, Long, Timestamp } from 'bson';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ReplicaSet, startWholeReplicaSet } from '../../../src/cluster/replica-set.js';
import type { Doc, Value } from '../../../src/bson/value.js';
import { doc, docOrEmpty } from '../../../src/node/doc-fields.js';
import { logIn } from '../../conformance/scram-login.js';
import { WireClient } from '../../conformance/wire-client.js';

let set: ReplicaSet;
let client: WireClient;

beforeAll(async () => {
  // No no-ops: the time, by whose seconds it is signed, stands still unless something is written.
  set = await startWholeReplicaSet({
    noopIntervalMs: 0,
    auth: {
      users: [
        { user: 'root', password: 'x', roles: ['root'] },
        { user: 'node', password: 'x', roles: ['__system'] },
      ],
    },
  });
  client = await WireClient.connect(set.host);
  await logIn(client, 'admin', 'root', 'x');
});

afterAll(async () => {
  client.close();
  await set.close();
});

function count(gossiped: Doc): Promise<Doc> {
  return client.run('a', doc(['count', 'c'], ['$clusterTime', gossiped]));
}

function ahead(time: Value | undefined, seconds: number): Timestamp {
  if (!(time instanceof Timestamp)) throw new Error('no cluster time');
  return new Timestamp({ t: time.t + seconds, i: 1 });
}

it('times are signed with a key that is kept, the same for a while', async () => {
  const [first, second] = [
    await client.run('a', doc(['ping', new Int32(1)])),
    await client.run('a', doc(['ping', new Int32(1)])),
  ];
  const signature = docOrEmpty(docOrEmpty(first.get('$clusterTime')).get('signature'));
  expect(docOrEmpty(docOrEmpty(second.get('$clusterTime')).get('signature'))).toEqual(signature);
  const node = await WireClient.connect(set.host);
  await logIn(node, 'admin', 'node', 'x');
  const { firstBatch } = Object.fromEntries(
    docOrEmpty((await node.run('admin', doc(['find', 'system.keys']))).get('cursor')),
  ) as { firstBatch: Doc[] };
  expect(firstBatch.map((key) => key.get('_id'))).toEqual([signature.get('keyId')]);
  node.close();
});

it('a time of this cluster is taken, one of another is not when it is ahead', async () => {
  const own = docOrEmpty((await client.run('a', doc(['ping', new Int32(1)]))).get('$clusterTime'));
  expect((await count(own)).get('n')).toEqual(new Int32(0));
  const foreign = doc(['hash', new Binary(Buffer.alloc(20), 0)], ['keyId', Long.ZERO]);
  expect(
    (await count(doc(['clusterTime', ahead(own.get('clusterTime'), -5)], ['signature', foreign]))).get('n'),
  ).toEqual(new Int32(0));
  const refused = await count(doc(['clusterTime', ahead(own.get('clusterTime'), 100)], ['signature', foreign]));
  expect(refused.get('code')).toEqual(new Int32(211));
  const forged = doc(
    ['hash', new Binary(Buffer.alloc(20), 0)],
    ['keyId', docOrEmpty(own.get('signature')).get('keyId') ?? null],
  );
  expect(
    (await count(doc(['clusterTime', ahead(own.get('clusterTime'), 100)], ['signature', forged]))).get('code'),
  ).toEqual(new Int32(204));
});
