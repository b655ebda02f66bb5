import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { compileNamespaceFilter } from '../../../../src/catalog/namespace-filter.js';
import { watchForBuilds } from '../../../../src/lifecycle/leader/builds.js';
import { fakeCluster } from '../../fake-node-client.js';
import { batchOf } from '../../model/calls.js';
import { clientWith } from '../../model/client-with.js';

type Watching = Parameters<typeof watchForBuilds>[0];

it('a build of a migrated collection is noticed when it begins and when it ends', async () => {
  const looks = [
    [],
    [{ opid: 1, ns: 'shop.orders' }],
    [{ opid: 1, ns: 'shop.orders' }],
    [
      { opid: 1, ns: 'shop.orders' },
      { opid: 2, ns: 'shop.orders' },
    ],
    [{ opid: 3, ns: 'other.orders' }],
    [],
  ];
  const stop = new AbortController();
  let seen = 0;
  const noticed: number[] = [];
  const openCursor = () => {
    const documents = (looks[seen] ?? []).map((one) => BSON.serialize(one));
    seen += 1;
    if (seen === looks.length) stop.abort();
    return Promise.resolve({
      first: batchOf(documents, {}),
      open: false,
      next: () => Promise.reject(new Error('one batch')),
      close: () => Promise.resolve(),
    });
  };
  const filter = compileNamespaceFilter({ includeNamespaces: [{ database: 'shop' }], excludeNamespaces: [] });
  const deps: Watching = {
    source: fakeCluster({ router: clientWith({ label: 'router', openCursor }), kind: 'replicaSet', shardIds: ['rs'] }),
    runtime: {
      clock: {
        sleep: (_ms, signal) => {
          signal.throwIfAborted();
          return Promise.resolve();
        },
      },
      retrying: (_what, operation) => operation(),
    },
  };
  await expect(watchForBuilds(deps, filter, () => noticed.push(seen), stop.signal)).rejects.toThrow();
  expect(noticed).toEqual([2, 4, 5]);
});
