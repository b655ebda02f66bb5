import { Binary, BSON, type Long, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { NodeClient, RawWrite, WriteOutcome, WriteTicket } from '../../../src/cluster/node-client.js';
import { createFence, SessionFence } from '../../../src/store/fence.js';
import { FencedWriter } from '../../../src/store/fenced-writer.js';
import { serverError } from '../model/calls.js';
import { FakeNodeClient } from '../fake-node-client.js';
import { bytesOf, never, once, settled, times } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

const write: RawWrite = {
  database: 'shop',
  collection: 'orders',
  kind: 'insert',
  statements: [bytesOf({ _id: 1 })],
  ordered: false,
};
const fine: WriteOutcome = { n: 1, nModified: 0, upserted: 0, failures: [] };
const fenced: WriteOutcome = { ...fine, n: 2 };
const epoch = 3;
const base = BigInt(epoch) * 2n ** 32n;
const sessions = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];

function outcomeOf(code: number): WriteOutcome {
  return { ...fine, n: 0, failures: [{ index: 0, code, message: '' }] };
}

/** A client that answers from the list and records tickets. */
function clientOf(answers: (WriteOutcome | Error | Promise<WriteOutcome>)[]): {
  client: NodeClient;
  tickets: WriteTicket[];
  writes: RawWrite[];
} {
  const tickets: WriteTicket[] = [];
  const writes: RawWrite[] = [];
  const send = (one: RawWrite, ticket: WriteTicket): Promise<WriteOutcome> => {
    tickets.push(ticket);
    writes.push(one);
    const answer = answers.shift() ?? fine;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { client: clientWith({ label: 'router', write: send }), tickets, writes };
}

function writerOf(client: NodeClient, retrying = once, confirm = (): Promise<void> => Promise.resolve()): FencedWriter {
  return new FencedWriter(client, retrying, sessions, epoch, confirm, fenceOf(client));
}

function fenceOf(client: NodeClient, retrying = once): SessionFence {
  return new SessionFence({ router: client, shardIds: ['a', 'b'] }, retrying);
}

/** The sent writes in order: kind and number in the epoch. */
function sentOf({ tickets, writes }: Pick<ReturnType<typeof clientOf>, 'tickets' | 'writes'>): string[] {
  return writes.map(({ collection }, at) => `${collection} ${(tickets[at]?.txnNumber ?? 0n) - base}`);
}

describe('a fenced write', () => {
  it('has a number of its epoch that is used only once', async () => {
    const { client, tickets } = clientOf([]);
    const writer = writerOf(client);
    for (let count = 0; count < 3; count += 1) await writer.write(write, never);
    const used = tickets.map(({ lsid, txnNumber }) => `${Buffer.from(lsid).toString('hex')} ${txnNumber}`);
    expect(new Set(used).size).toBe(3);
    for (const { txnNumber } of tickets) {
      expect(txnNumber).toBeGreaterThan(base);
      expect(txnNumber).toBeLessThan(base + 2n ** 32n);
    }
  });

  it('is sent again under its number when its outcome is unknown or a statement may succeed later', async () => {
    const { client, tickets, writes } = clientOf([new Error('connection lost'), outcomeOf(112), fine, fenced]);
    expect(await writerOf(client, times(3)).write(write, never)).toEqual(fine);
    expect(sentOf({ tickets, writes }).slice(0, 3)).toEqual(['orders 1', 'orders 1', 'orders 1']);
  });

  it('that was repeated ends once its session is fenced on every shard, under a new number', async () => {
    const { client, tickets, writes } = clientOf([new Error('connection lost'), fine, fenced, fine]);
    const writer = new FencedWriter(
      client,
      times(2),
      sessions.slice(0, 1),
      epoch,
      () => Promise.resolve(),
      fenceOf(client),
    );
    await writer.write(write, never);
    await writer.write(write, never);
    expect(sentOf({ tickets, writes })).toEqual(['orders 1', 'orders 1', 'fence 2', 'orders 3']);
    expect(writes[2]?.statements).toHaveLength(2);
  });

  it('that was repeated does not end before its fence', async () => {
    let raise: (outcome: WriteOutcome) => void = () => undefined;
    const { client, writes } = clientOf([
      new Error('connection lost'),
      fine,
      new Promise((resolve) => (raise = resolve)),
    ]);
    let over = false;
    const written = writerOf(client, times(2))
      .write(write, never)
      .then(() => (over = true));
    await settled();
    expect([writes.length, over]).toEqual([3, false]);
    raise(fenced);
    await written;
    expect(over).toBe(true);
  });

  it('that was repeated and refused is fenced too', async () => {
    const { client, tickets, writes } = clientOf([new Error('connection lost'), serverError(175), fenced]);
    await expect(writerOf(client, times(2)).write(write, never)).rejects.toMatchObject({ code: 175 });
    expect(sentOf({ tickets, writes })).toEqual(['orders 1', 'orders 1', 'fence 2']);
  });

  it('never reuses the number of a failed fence, which some shards may have', async () => {
    const { client, tickets, writes } = clientOf([new Error('connection lost'), fine, { ...fenced, n: 1 }, fine]);
    const writer = new FencedWriter(
      client,
      times(2),
      sessions.slice(0, 1),
      epoch,
      () => Promise.resolve(),
      new SessionFence({ router: client, shardIds: ['a', 'b'] }, once),
    );
    await expect(writer.write(write, never)).rejects.toMatchObject({ error: 'internalError' });
    await writer.write(write, never);
    expect(sentOf({ tickets, writes })).toEqual(['orders 1', 'orders 1', 'fence 2', 'orders 3']);
  });

  it('that was sent once without an answer is fenced', async () => {
    const { client, tickets, writes } = clientOf([new Error('an unreadable reply'), fenced]);
    await expect(writerOf(client).write(write, never)).rejects.toThrow('an unreadable reply');
    expect(sentOf({ tickets, writes })).toEqual(['orders 1', 'fence 2']);
  });

  it('that was answered at once needs no fence', async () => {
    const { client, tickets, writes } = clientOf([fine, outcomeOf(11000)]);
    const writer = writerOf(client);
    await writer.write(write, never);
    await writer.write(write, never);
    expect(sentOf({ tickets, writes })).toEqual(['orders 1', 'orders 2']);
  });

  it('returns the failures that no repetition mends', async () => {
    const { client } = clientOf([outcomeOf(11000)]);
    expect(await writerOf(client).write(write, never)).toEqual(outcomeOf(11000));
  });

  it.each([
    ['single statements, as routers do', outcomeOf(225)],
    ['the whole command, as a replica set does', serverError(225)],
  ])('of a former owner ends with staleEpoch when the server refuses %s', async (_how, answer) => {
    await expect(writerOf(clientOf([answer]).client).write(write, never)).rejects.toMatchObject({
      error: 'staleEpoch',
    });
  });

  it.each([
    ['single statements, as routers do', outcomeOf(217)],
    ['the whole command, as a replica set does', serverError(217)],
  ])(
    'that was repeated and has an unknown outcome reports it for each statement, and is fenced: %s',
    async (_how, answer) => {
      const { client, tickets, writes } = clientOf([new Error('connection lost'), answer, fenced]);
      expect(await writerOf(client, times(2)).write(write, never)).toEqual(outcomeOf(217));
      expect(sentOf({ tickets, writes })).toEqual(['orders 1', 'orders 1', 'fence 2']);
    },
  );

  it('waits for a free session: a third for the first of two', async () => {
    let finish: (outcome: WriteOutcome) => void = () => undefined;
    const slow = new Promise<WriteOutcome>((resolve) => (finish = resolve));
    const { client, tickets } = clientOf([slow, new Promise(() => undefined)]);
    const writer = writerOf(client);
    for (let count = 0; count < 3; count += 1) void writer.write(write, never);
    await settled();
    expect(tickets).toHaveLength(2);
    finish(fine);
    await settled();
    expect(tickets).toHaveLength(3);
    expect(tickets[2]).toEqual({ lsid: tickets[0]?.lsid, txnNumber: (tickets[0]?.txnNumber ?? 0n) + 1n });
  });

  it('is not sent when the owner cannot be confirmed', async () => {
    const { client, tickets } = clientOf([]);
    await expect(
      writerOf(client, once, () => Promise.reject(new Error('not confirmed'))).write(write, never),
    ).rejects.toThrow('not confirmed');
    expect(tickets).toEqual([]);
  });
});

/** Enough statements for a transaction. */
const many: RawWrite = {
  ...write,
  kind: 'update',
  statements: Array.from({ length: 20 }, (_, _id) => bytesOf({ q: { _id }, u: { $set: { a: 1 } } })),
};
const answered: WriteOutcome = { n: 20, nModified: 20, upserted: 0, failures: [] };

const noTransaction = new MongoServerError({
  ok: 0,
  code: 251,
  errmsg: 'no such transaction',
  errorLabels: ['TransientTransactionError'],
});

/** A writer to a replica set whose calls are recorded in order, as `start 1`, `commit 1` or `write 2`. */
function togetherOf(
  answers: (WriteOutcome | Error)[],
  commits: (Error | 'fine')[] = [],
  retrying = times(3),
): { writer: FencedWriter; calls: string[] } {
  const calls: string[] = [];
  const number = (txnNumber: bigint): string => String(txnNumber - base);
  const client = clientWith({
    label: 'router',
    write(one, ticket) {
      const kind = ticket?.beginsTransaction === true ? 'start' : one.collection === 'fence' ? 'fence' : 'write';
      calls.push(`${kind} ${number(ticket?.txnNumber ?? 0n)}`);
      const answer = kind === 'fence' ? fenced : (answers.shift() ?? answered);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    command(database, command) {
      expect(database).toBe('admin');
      expect(command).toMatchObject({ commitTransaction: 0, autocommit: false, writeConcern: { w: 'majority' } });
      expect(command.lsid).toEqual({ id: new Binary(sessions[0], Binary.SUBTYPE_UUID) });
      calls.push(`commit ${number((command.txnNumber as Long).toBigInt())}`);
      const answer = commits.shift() ?? 'fine';
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ ok: 1 });
    },
  });
  const confirm = (): Promise<void> => Promise.resolve();
  return {
    writer: new FencedWriter(client, retrying, sessions.slice(0, 1), epoch, confirm, fenceOf(client), true),
    calls,
  };
}

describe('a write of many statements to a replica set', () => {
  it('is one transaction, which the same number commits', async () => {
    const { writer, calls } = togetherOf([]);
    expect(await writer.write(many, never)).toEqual(answered);
    expect(await writer.write({ ...many, kind: 'delete' }, never)).toEqual(answered);
    expect(calls).toEqual(['start 1', 'commit 1', 'start 2', 'commit 2']);
  });

  it.each([
    ['inserts, which cost no less in one', { ...many, kind: 'insert' as const }],
    ['few statements', { ...many, statements: many.statements.slice(0, 3) }],
    ['ordered ones, of capped collections', { ...many, ordered: true }],
    ['buckets of a time series', { ...many, collection: 'system.buckets.orders' }],
  ])('is none of %s', async (_what, one) => {
    const { writer, calls } = togetherOf([]);
    await writer.write(one, never);
    expect(calls).toEqual(['write 1']);
  });

  it('is sent apart, under the next number, when a statement is refused: nothing of it was written', async () => {
    const apart = { ...answered, n: 19, failures: [{ index: 4, code: 11000, message: '' }] };
    const { writer, calls } = togetherOf([outcomeOf(11000), apart]);
    expect(await writer.write(many, never)).toEqual(apart);
    expect(calls).toEqual(['start 1', 'write 2']);
  });

  it.each([
    ['the answer is lost', new Error('connection lost')],
    ['a lock is not to be had in time', serverError(24)],
    ['another transaction was faster', serverError(112)],
    ['the server has no transactions', serverError(20)],
  ])('is sent apart when %s before the commit: what is not committed is not written', async (_why, failure) => {
    const { writer, calls } = togetherOf([failure]);
    expect(await writer.write(many, never)).toEqual(answered);
    expect(calls).toEqual(['start 1', 'write 2']);
  });

  it('is sent apart when the server does not know the transaction any more, as after a failover', async () => {
    const { writer, calls } = togetherOf([], [new Error('connection lost'), noTransaction]);
    expect(await writer.write(many, never)).toEqual(answered);
    expect(calls).toEqual(['start 1', 'commit 1', 'commit 1', 'write 2']);
  });

  it('is not sent again while nobody knows whether it is committed', async () => {
    const { writer, calls } = togetherOf([], [new Error('connection lost'), serverError(189), 'fine']);
    expect(await writer.write(many, never)).toEqual(answered);
    expect(calls).toEqual(['start 1', 'commit 1', 'commit 1', 'commit 1']);
  });

  it('is asked for again while the server is not sure that it knows of no such transaction', async () => {
    const { writer, calls } = togetherOf([], [serverError(251), 'fine']);
    expect(await writer.write(many, never)).toEqual(answered);
    expect(calls).toEqual(['start 1', 'commit 1', 'commit 1']);
  });

  it('ends with the failure of its commit where that says nothing of the outcome', async () => {
    const { writer, calls } = togetherOf([], [serverError(8000)], once);
    await expect(writer.write(many, never)).rejects.toMatchObject({ code: 8000 });
    expect(calls).toEqual(['start 1', 'commit 1']);
  });

  it.each([
    ['begins', [serverError(225)], []],
    ['is committed', [], [serverError(225)]],
  ])('of a former owner ends with staleEpoch when it %s', async (_when, answers, commits) => {
    await expect(togetherOf(answers, commits, once).writer.write(many, never)).rejects.toMatchObject({
      error: 'staleEpoch',
    });
  });

  it('is followed by fifty writes apart once a statement was refused', async () => {
    const { writer, calls } = togetherOf([outcomeOf(11000)]);
    for (let count = 0; count < 52; count += 1) await writer.write(many, never);
    expect(calls.filter((call) => call.startsWith('write'))).toHaveLength(51);
    expect(calls.slice(-2)).toEqual(['start 53', 'commit 53']);
  });
});

describe('a fence', () => {
  it('changes one document on every shard in every session, below all numbers of the new epoch', async () => {
    const { client, tickets, writes } = clientOf([fenced, fenced]);
    await fenceOf(client).stopFormerOwner(sessions, epoch, never);
    expect(tickets).toEqual(sessions.map((lsid) => ({ lsid, txnNumber: base })));
    for (const { kind, statements } of writes) {
      expect(kind).toBe('update');
      expect(statements.map((statement) => BSON.deserialize(statement))).toEqual(
        [0, 1].map((_id) => ({ q: { _id }, u: { $inc: { fenced: 1 } } })),
      );
    }
  });

  it('that failed on one shard is repeated under the same number', async () => {
    const { client, tickets } = clientOf([
      { ...fenced, n: 1, failures: [{ index: 1, code: 189, message: '' }] },
      fenced,
    ]);
    await fenceOf(client, times(2)).stopFormerOwner(sessions.slice(0, 1), epoch, never);
    expect(tickets.map(({ txnNumber }) => txnNumber)).toEqual([base, base]);
  });

  it('counts on a shard that no longer knows the outcome: it has stored the number', async () => {
    const { client, tickets } = clientOf([
      new Error('connection lost'),
      { ...fenced, n: 1, failures: [{ index: 1, code: 217, message: '' }] },
    ]);
    await fenceOf(client, times(2)).stopFormerOwner(sessions.slice(0, 1), epoch, never);
    expect(tickets.map(({ txnNumber }) => txnNumber)).toEqual([base, base]);
  });

  it('that did not change a document on every shard fails', async () => {
    const { client } = clientOf([{ ...fenced, n: 1 }]);
    await expect(fenceOf(client).stopFormerOwner(sessions, epoch, never)).rejects.toMatchObject({
      error: 'internalError',
    });
  });

  it('of a former owner ends with staleEpoch', async () => {
    const { client } = clientOf([outcomeOf(225)]);
    await expect(fenceOf(client).stopFormerOwner(sessions, epoch, never)).rejects.toMatchObject({
      error: 'staleEpoch',
    });
  });
});

describe('the collection of the fence', () => {
  const done = { ok: 1 };
  const table = (sharded: boolean) => ({
    find: () => ({ cursor: { firstBatch: sharded ? [{ _id: 'convoy_metadata.fence' }] : [] } }),
    enableSharding: () => done,
    addShardToZone: () => done,
    updateZoneKeyRange: () => done,
    removeShardFromZone: () => done,
    shardCollection: () => done,
    update: () => ({ n: 2 }),
  });

  it('has a chunk and a document on every shard', async () => {
    const client = new FakeNodeClient('router', table(false));
    await createFence(client, 'sharded', ['a', 'b'], { signal: never });
    const names = client.sent.map(({ command }) => Object.keys(command)[0]);
    expect(names).toEqual([
      'find',
      'enableSharding',
      'addShardToZone',
      'addShardToZone',
      'updateZoneKeyRange',
      'updateZoneKeyRange',
      'shardCollection',
      'updateZoneKeyRange',
      'updateZoneKeyRange',
      'removeShardFromZone',
      'removeShardFromZone',
      'update',
    ]);
    expect(client.sent.at(-1)?.command.updates).toMatchObject([{ q: { _id: 0 } }, { q: { _id: 1 } }]);
  });

  const changing = (client: FakeNodeClient): (string | undefined)[] =>
    client.sent.map(({ command }) => Object.keys(command)[0]).filter((name) => name !== 'find');

  it('that is on a replica set gets only its documents', async () => {
    const client = new FakeNodeClient('router', table(false));
    await createFence(client, 'replicaSet', ['a', 'b'], { signal: never });
    expect(changing(client)).toEqual(['update']);
  });

  it('that is sharded already loses the zones of a leader that ended, and gets its documents', async () => {
    const client = new FakeNodeClient('router', table(true));
    await createFence(client, 'sharded', ['a', 'b'], { signal: never });
    const removals = ['updateZoneKeyRange', 'removeShardFromZone'];
    expect(changing(client)).toEqual([...removals.flatMap((name) => [name, name]), 'update']);
    expect(client.sent.filter(({ command }) => command.zone !== undefined && command.zone !== null)).toMatchObject([
      { command: { removeShardFromZone: 'a', zone: 'convoy_metadata.fence.0' } },
      { command: { removeShardFromZone: 'b', zone: 'convoy_metadata.fence.1' } },
    ]);
  });
});
