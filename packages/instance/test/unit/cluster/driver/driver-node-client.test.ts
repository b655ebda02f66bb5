import { Binary, BSON, Long, MongoClient, MongoServerError, Timestamp } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { readCursor } from '../../../../src/catalog/list-namespaces.js';
import { ClientClosedError, Waits } from '../../../../src/cluster/calls-in-flight.js';
import { NoAnswerError } from '../../../../src/async/clock.js';
import { ClientRing, clientOptions, MemberClients } from '../../../../src/cluster/driver/clients.js';
import { DriverNodeClient } from '../../../../src/cluster/driver/driver-node-client.js';
import { classify } from '../../../../src/cluster/failure.js';
import { batch, failure, type Script, ScriptedNode, success } from '../scripted-node.js';
import { clientTo, signal, withClient } from './client-to-scripted-node.js';

const lsid = Buffer.alloc(16, 7);

const insert = {
  database: 'db',
  collection: 'coll',
  kind: 'insert',
  statements: [BSON.serialize({ _id: 1 }), BSON.serialize({ _id: 2 })],
  ordered: false,
} as const;

describe('reading at majority', () => {
  test("sees the client's own writes, whichever primary answers", async () => {
    let t = 0;
    const answer: Script = ({ name }) => ({
      ...(name === 'find' ? batch(0n, []) : success({ n: 1 })),
      operationTime: new Timestamp({ t, i: 1 }),
    });
    await withClient(answer, async (nodeClient, node) => {
      const level = 'majority';
      const find = { find: 'c', readConcern: { level } };
      const timesOf = (name: string) =>
        node
          .named(name)
          .map(
            ({ body }) => (body['readConcern'] as { afterClusterTime?: Timestamp } | undefined)?.afterClusterTime?.t,
          );
      await nodeClient.openCursor('db', find, { signal });
      t = 101;
      await nodeClient.write(insert, null, { signal });
      await nodeClient.openCursor('db', find, { signal });
      t = 201;
      await nodeClient.command('db', { update: 'c', updates: [], writeConcern: { w: 'majority' } }, { signal });
      // Neither local reads nor earlier replies change the time.
      t = 900;
      await nodeClient.command('db', { count: 'c' }, { signal });
      t = 150;
      await nodeClient.command('db', { count: 'c', readConcern: { level } }, { signal });
      await nodeClient.write(insert, null, { signal });
      await nodeClient.command('db', { count: 'c', readConcern: { level } }, { signal });
      await nodeClient.openCursor(
        'db',
        { find: 'c', readConcern: { level, afterClusterTime: new Timestamp({ t: 7, i: 1 }) } },
        { signal },
      );
      await nodeClient.openCursor('db', { find: 'c' }, { signal });
      expect(timesOf('find')).toEqual([undefined, 101, 7, undefined]);
      expect(timesOf('count')).toEqual([undefined, 201, 201]);
    });
  });

  test('shows no less than an earlier read has shown, whichever primary answers', async () => {
    let t = 300;
    const answer: Script = () => ({ ...batch(0n, []), operationTime: new Timestamp({ t, i: 1 }) });
    await withClient(answer, async (nodeClient, node) => {
      const find = { find: 'c', readConcern: { level: 'majority' } };
      await nodeClient.command('db', find, { signal });
      t = 200;
      await nodeClient.command('db', find, { signal });
      expect(node.named('find').map(({ body }) => body['readConcern'] as unknown)).toEqual([
        { level: 'majority' },
        { level: 'majority', afterClusterTime: new Timestamp({ t: 300, i: 1 }) },
      ]);
    });
  });
});

const clusterTimeAt = (t: number) => ({
  clusterTime: new Timestamp({ t, i: 1 }),
  signature: { hash: new Binary(Buffer.alloc(20)), keyId: Long.fromNumber(0) },
});

describe('reading from other members than the primary', () => {
  test('advances the cluster time of a member that lags; catalogs come from the primary', async () => {
    let t = 500;
    const answer: Script = () => ({ ...batch(0n, []), $clusterTime: clusterTimeAt(t) });
    await using member = await ScriptedNode.start(answer, { $clusterTime: clusterTimeAt(50) });
    await using primary = await ScriptedNode.start(answer, { me: member.host });
    const connect = (host: string) => new MongoClient(`mongodb://${host}/?directConnection=true`, clientOptions({}));
    const members = new MemberClients('secondary', connect);
    const ring = new ClientRing([() => connect(primary.host)]);
    const nodeClient = new DriverNodeClient({ label: 'test', ring, readPreference: 'secondary', members });
    try {
      await nodeClient.openCursor('db', { listCollections: 1 }, { signal, primary: true });
      await readCursor(nodeClient, 'db', { listIndexes: 'c' }, (bytes) => bytes, signal);
      expect([primary, member].map((node) => node.named('listCollections').length)).toEqual([1, 0]);
      expect([primary, member].map((node) => node.named('listIndexes').length)).toEqual([1, 0]);
      t = 50;
      await nodeClient.openCursor('db', { find: 'c' }, { signal });
      expect(member.named('find')[0]?.body['$clusterTime']).toMatchObject({
        clusterTime: new Timestamp({ t: 500, i: 1 }),
      });
    } finally {
      await nodeClient.close();
    }
  });
});

test('a batch of a member that lags has the time of the primary beside its own', async () => {
  const at = (t: number) => ({ operationTime: new Timestamp({ t, i: 1 }) });
  await using member = await ScriptedNode.start(() => ({ ...batch(0n, []), ...at(50) }));
  await using primary = await ScriptedNode.start(() => ({ ...success(), ...at(500) }), { me: member.host });
  const connect = (host: string) => new MongoClient(`mongodb://${host}/?directConnection=true`, clientOptions({}));
  const members = new MemberClients('secondary', connect);
  const ring = new ClientRing([() => connect(primary.host)]);
  const nodeClient = new DriverNodeClient({ label: 'test', ring, readPreference: 'secondary', members });
  try {
    const before = await nodeClient.openCursor('db', { find: 'c' }, { signal });
    expect(before.first).toMatchObject(at(50));
    expect(before.first.primaryTime).toBeUndefined();
    await nodeClient.command('admin', { ping: 1 }, { signal });
    const after = await nodeClient.openCursor('db', { find: 'c' }, { signal });
    expect(after.first).toMatchObject({ ...at(50), primaryTime: new Timestamp({ t: 500, i: 1 }) });
  } finally {
    await nodeClient.close();
  }
});

test('a member that is far behind its primary is named for as long as it is', async () => {
  let t = 50;
  const at = (seconds: number) => ({ operationTime: new Timestamp({ t: seconds, i: 1 }) });
  await using member = await ScriptedNode.start(() => ({ ...batch(0n, []), ...at(t) }));
  await using primary = await ScriptedNode.start(() => ({ ...success(), ...at(500) }), { me: member.host });
  const connect = (host: string) => new MongoClient(`mongodb://${host}/?directConnection=true`, clientOptions({}));
  const waits = new Waits();
  const nodeClient = new DriverNodeClient({
    ...{ label: 'cluster0 replica set', ring: new ClientRing([() => connect(primary.host)]), waits },
    ...{ readPreference: 'secondary', members: new MemberClients('secondary', connect) },
  });
  try {
    await nodeClient.command('admin', { ping: 1 }, { signal });
    await nodeClient.openCursor('db', { find: 'c' }, { signal });
    const what = `its member ${member.host}, which is far behind the primary`;
    expect(waits.present).toEqual([{ from: 'cluster0 replica set', what }]);
    t = 480;
    await nodeClient.openCursor('db', { find: 'c' }, { signal });
    expect(waits.present).toEqual([]);
  } finally {
    await nodeClient.close();
  }
});

test('advances the cluster time of a router that did not see a write', async () => {
  let dead = false;
  await using first = await ScriptedNode.start(() =>
    dead ? 'disconnect' : { ...success({ n: 1 }), $clusterTime: clusterTimeAt(500) },
  );
  await using second = await ScriptedNode.start(({ name }) => (name === 'find' ? batch(0n, []) : success()), {
    msg: 'isdbgrid',
    $clusterTime: clusterTimeAt(50),
  });
  const nodeClient = clientTo(first, second);
  try {
    await nodeClient.write(insert, null, { signal });
    dead = true;
    const command = { count: 'c', readConcern: { level: 'majority' } };
    await expect(nodeClient.command('db', command, { signal })).rejects.toThrow();
    await nodeClient.command('db', command, { signal });
    await nodeClient.openCursor('db', { find: 'c', readConcern: { level: 'majority' } }, { signal });
    for (const name of ['count', 'find'])
      expect(second.named(name)[0]?.body['$clusterTime']).toMatchObject({
        clusterTime: new Timestamp({ t: 500, i: 1 }),
      });
  } finally {
    await nodeClient.close();
  }
});

describe('writing', () => {
  test('sends the statements unchanged, with majority and without validation', async () => {
    await withClient(
      () => success({ n: 2 }),
      async (nodeClient, node) => {
        expect(await nodeClient.write(insert, null, { signal })).toEqual({
          n: 2,
          nModified: 0,
          upserted: 0,
          failures: [],
          operationTime: new Timestamp({ t: 100, i: 1 }),
        });
        const [command] = node.named('insert');
        expect(command?.sequences.get('documents')).toEqual(insert.statements.map((bytes) => Buffer.from(bytes)));
        expect(command?.body).toMatchObject({
          insert: 'coll',
          ordered: false,
          writeConcern: { w: 'majority' },
          bypassDocumentValidation: true,
          $db: 'db',
        });
        expect(command?.body).not.toHaveProperty('txnNumber');
      },
    );
  });

  test.each([64, 91, 189])(
    'throws a write-concern error (%i) as retryable, also beside duplicate keys and for commands',
    async (code) => {
      const writeConcernError = { code, codeName: 'SomeCode', errmsg: 'waiting for replication timed out' };
      const writeErrors = [{ index: 0, code: 11000, errmsg: 'E11000' }];
      await withClient(
        () => success({ n: 1, writeErrors, writeConcernError }),
        async (nodeClient) => {
          const calls = [
            () => nodeClient.write(insert, null, { signal }),
            () => nodeClient.command('db', { create: 'c' }, { signal }),
          ];
          for (const call of calls) {
            const error: unknown = await call().catch((thrown: unknown) => thrown);
            expect(error).toBeInstanceOf(MongoServerError);
            expect(classify(error)).toBe('retryable');
          }
        },
      );
    },
  );

  test('with a ticket runs in that session under that number', async () => {
    await withClient(
      () => success({ n: 2 }),
      async (nodeClient, node) => {
        await nodeClient.write(insert, { lsid, txnNumber: (5n << 32n) + 3n }, { signal });
        await nodeClient.write(insert, null, { signal });
        await nodeClient.command('admin', { ping: 1 }, { signal });
        const [ticketed, plain] = node.named('insert');
        expect(ticketed?.body['txnNumber']).toEqual(Long.fromBigInt((5n << 32n) + 3n));
        expect(ticketed?.body['lsid']).toEqual({ id: new Binary(lsid, 4).toUUID() });
        for (const other of [plain, ...node.named('ping')])
          expect(other?.body['lsid']).not.toEqual(ticketed?.body['lsid']);
      },
    );
  });

  test('never ends the session of a ticket', async () => {
    const ended: unknown[] = [];
    await using node = await ScriptedNode.start(() => success({ n: 2 }));
    const client = new MongoClient(`${node.connectionString}?directConnection=true`, {
      ...clientOptions({}),
      monitorCommands: true,
    });
    client.on('commandStarted', (event) => {
      if (event.commandName === 'endSessions') ended.push(...(event.command['endSessions'] as unknown[]));
    });
    const nodeClient = new DriverNodeClient({
      label: 'test',
      ring: new ClientRing([() => client]),
      readPreference: null,
    });
    await nodeClient.write(insert, { lsid, txnNumber: 1n }, { signal });
    await nodeClient.close();
    expect(ended.length).toBeGreaterThan(0);
    expect(BSON.EJSON.stringify(ended)).not.toContain(new Binary(lsid, 4).toString('base64'));
  });

  test('returns the failures of single statements', async () => {
    const writeErrors = [{ index: 1, code: 11000, errmsg: 'E11000', keyPattern: { _id: 1 }, keyValue: { _id: 2 } }];
    await withClient(
      () => success({ n: 1, nModified: 0, upserted: [{ index: 0, _id: 1 }], writeErrors }),
      async (nodeClient) => {
        const outcome = await nodeClient.write(insert, null, { signal });
        expect(outcome).toMatchObject({
          n: 1,
          upserted: 1,
          failures: [{ index: 1, code: 11000, message: 'E11000', keyPattern: { _id: 1 }, keyValue: { _id: 2 } }],
        });
      },
    );
  });

  test('throws a write-concern error even beside other failures', async () => {
    const reply = success({
      n: 1,
      writeErrors: [{ index: 1, code: 11000, errmsg: 'E11000' }],
      writeConcernError: { code: 189, codeName: 'PrimarySteppedDown', errmsg: 'stepped down' },
    });
    await withClient(
      () => reply,
      async (nodeClient) => {
        const error = await nodeClient.write(insert, null, { signal }).catch((thrown: unknown) => thrown);
        expect(classify(error)).toBe('retryable');
      },
    );
  });
});

describe('commands', () => {
  test('that name a session run in it, as in a transaction', async () => {
    await withClient(
      () => success(),
      async (nodeClient, node) => {
        const session = { lsid: { id: new Binary(lsid, 4) }, txnNumber: Long.fromNumber(9), autocommit: false };
        await nodeClient.command('db', { find: 'coll', startTransaction: true, ...session }, { signal });
        await nodeClient.command('admin', { commitTransaction: 1, ...session }, { signal });
        const bodies = [...node.named('find'), ...node.named('commitTransaction')].map(({ body }) => body);
        for (const body of bodies)
          expect(body).toMatchObject({
            txnNumber: Long.fromNumber(9),
            lsid: { id: new Binary(lsid, 4).toUUID() },
            autocommit: false,
          });
        expect(bodies[0]).toHaveProperty('startTransaction', true);
      },
    );
  });

  test('are not repeated', async () => {
    await withClient(
      () => failure(189, 'PrimarySteppedDown', { errorLabels: ['RetryableWriteError'] }),
      async (nodeClient, node) => {
        await expect(nodeClient.command('db', { create: 'x' }, { signal })).rejects.toThrow(MongoServerError);
        expect(node.named('create')).toHaveLength(1);
      },
    );
  });

  test('keep values that a JavaScript number would lose', async () => {
    const large = Long.fromBigInt(2n ** 60n);
    await withClient(
      () => success({ large, small: Long.fromNumber(5), pattern: new BSON.BSONRegExp('a', 'x') }),
      async (nodeClient) => {
        const reply = await nodeClient.command('db', { any: 1 }, { signal });
        expect(reply).toMatchObject({ large, small: 5, pattern: new BSON.BSONRegExp('a', 'x') });
      },
    );
  });
});

describe('ending a call', () => {
  test("by the caller's signal rejects with its reason and leaves the client usable", async () => {
    await withClient(
      ({ name }) => (name === 'hang' ? 'hang' : success()),
      async (nodeClient, node) => {
        const controller = new AbortController();
        const hanging = nodeClient.command('db', { hang: 1 }, { signal: controller.signal });
        await expect.poll(() => node.named('hang').length).toBe(1);
        controller.abort(new Error('enough'));
        await expect(hanging).rejects.toThrow('enough');
        await expect(nodeClient.command('db', { ping: 1 }, { signal })).resolves.toMatchObject({ ok: 1 });
        await expect(nodeClient.command('db', { ping: 1 }, { signal: controller.signal })).rejects.toThrow('enough');
      },
    );
  });

  test('by closing the client', async () => {
    await using node = await ScriptedNode.start(() => 'hang');
    const nodeClient = clientTo(node);
    const hanging = nodeClient.write(insert, { lsid, txnNumber: 1n }, { signal });
    const rejected = expect(hanging).rejects.toThrow(ClientClosedError);
    await expect.poll(() => node.named('insert').length).toBe(1);
    await nodeClient.close();
    await rejected;
    await expect(nodeClient.command('db', { ping: 1 }, { signal })).rejects.toThrow(ClientClosedError);
  });

  test('without an answer counts as a failure of the network', () => {
    expect(classify(new NoAnswerError('x'))).toBe('retryable');
  });
});

describe('several routers', () => {
  test('are used one at a time, with a switch after a lost connection', async () => {
    let healthy = true;
    await using first = await ScriptedNode.start(() => (healthy ? success() : 'disconnect'));
    await using second = await ScriptedNode.start(() => success());
    const nodeClient = clientTo(first, second);
    await nodeClient.command('db', { ping: 1 }, { signal });
    await nodeClient.command('db', { ping: 1 }, { signal });
    expect([first.named('ping').length, second.named('ping').length]).toEqual([2, 0]);
    healthy = false;
    const error = await nodeClient.command('db', { ping: 1 }, { signal }).catch((thrown: unknown) => thrown);
    expect(classify(error)).toBe('retryable');
    await nodeClient.command('db', { ping: 1 }, { signal });
    expect(second.named('ping')).toHaveLength(1);
    await nodeClient.close();
  });
});
