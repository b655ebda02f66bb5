import { serversOf } from '@convoy/testbed/cluster/servers-of';
import type { Collection } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { indexStates } from './index-states.js';

interface Order {
  _id: number;
  code: string;
}

const isReal = serversOf('source').kind !== 'simulator';
/** A real server builds an index over them for seconds; a simulated one has it at once. */
const documents = isReal ? 600_000 : 3_000;
const batch = 10_000;

async function load(orders: Collection<Order>): Promise<void> {
  for (let first = 0; first < documents; first += batch) {
    const count = Math.min(batch, documents - first);
    const some = Array.from({ length: count }, (_, n): Order => ({ _id: first + n, code: codeOf(first + n) }));
    await orders.insertMany(some, { ordered: false });
  }
}

/** Codes are in another order than `_id`s, so that a build has to sort them. */
function codeOf(_id: number): string {
  return `${((_id * 7_919) % documents).toString(36)}-${_id}-${'x'.repeat(40)}`;
}

it.each([false, true])(
  `an index of ${documents} documents that the source builds when a commit comes is finished on both at its end: ` +
    'unique %s',
  async (unique) => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet');
    const [source, destination] = [fixture.cluster0, fixture.cluster1].map(({ client }) =>
      client.db('shop').collection<Order>('orders'),
    ) as [Collection<Order>, Collection<Order>];
    await load(source);
    await using instance = await fixture.startInstance({ partition_seconds: 10, checkpoint_ms: 1_000 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();

    const built = source.createIndex({ code: 1 }, { unique }, {});
    built.catch(() => undefined);
    await expect.poll(() => indexStates(source), { interval: 20 }).toHaveProperty('code_1');
    // A commit is taken at once, or refused by the name of the build.
    const { status, body } = await instance.command('commit');
    if (status !== 200) expect(body).toMatchObject({ error: 'cannotCommit' });
    if (status !== 200) await instance.commitWhenOffered();
    else await instance.untilState('COMMITTED');
    const finished = { _id_: 'finished', code_1: 'finished' };
    expect([await indexStates(source), await indexStates(destination)]).toEqual([finished, finished]);
    await built;
    const repeated = destination.insertOne({ _id: -1, code: codeOf(0) }).then(
      () => null,
      (error: unknown) => (error as { code: unknown }).code,
    );
    expect(await repeated).toBe(unique ? 11_000 : null);
  },
);
