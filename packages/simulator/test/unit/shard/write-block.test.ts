import { Int32 } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/bson/value.js';
import type { CommandRequest } from '../../../src/node/command.js';
import { Deployment } from '../../../src/node/deployment.js';
import { doc } from '../../../src/node/doc-fields.js';
import { internalRequest } from '../../../src/node/internal-request.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { FailPoint } from '../../../src/faults/fail-point.js';
import { long, lsid } from './shard-fixture.js';
import { failureOf, VersionedShard } from './versioned-shard.js';

/** A shard whose users' writes can be blocked. */
class BlockedShard extends VersionedShard {
  readonly deployment: Deployment;
  readonly user: Partial<CommandRequest> = { connection: { id: 1, remoteAddress: '', authenticated: [] } };

  constructor(series: ReleaseSeries) {
    const deployment = new Deployment(ServerVersion.parse(series));
    super(series, { deployment });
    this.deployment = deployment;
    deployment.writeBlock.members.push(this.shard);
  }

  block(global: boolean, reason?: string, comparesReasons = true): Promise<void> {
    const body: Doc = doc(['setUserWriteBlockMode', new Int32(1)], ['global', global]);
    if (reason !== undefined) body.set('reason', reason);
    return this.deployment.writeBlock.set(internalRequest('admin', body), comparesReasons);
  }
}

const inTransaction = (more: object = {}) => ({ lsid: lsid('a'), txnNumber: long(1), autocommit: false, ...more });

describe('a block of user writes', () => {
  it('waits for open transactions, and whatever comes meanwhile waits behind it; notes do not', async () => {
    using shard = new BlockedShard('7.0');
    await shard.run('db', { create: 'c' });
    await shard.run(
      'db',
      { insert: 'c', documents: [{ _id: 1 }], startTransaction: true, ...inTransaction() },
      shard.user,
    );
    const order: string[] = [];
    const blocked = shard.block(true).then(() => order.push('blocked'));
    const late = failureOf(shard.run('db', { create: 'late' }, shard.user)).then(({ code }) =>
      order.push(`create ${code}`),
    );
    const read = shard.found('db', { find: 'c' }).then((found) => order.push(`${found.length} read`));
    expect(await failureOf(shard.run('admin', { appendOplogNote: 1, data: {} }))).toMatchObject({ code: 107 });
    await shard.run('db', { insert: 'c', documents: [{ _id: 3 }], ...inTransaction() }, shard.user);
    expect(order).toEqual([]);
    await shard.run('admin', { commitTransaction: 1, ...inTransaction() }, shard.user);
    await Promise.all([blocked, late, read]);
    expect([order[0], [...order].sort()]).toEqual(['blocked', ['2 read', 'blocked', 'create 371']]);
    await shard.run('admin', { appendOplogNote: 1, data: {} });
  });

  it('is not set where the node steps down meanwhile', async () => {
    using shard = new BlockedShard('7.0');
    await shard.run('db', { create: 'c' });
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }], startTransaction: true, ...inTransaction() });
    const blocked = failureOf(shard.block(true));
    shard.shard.stepDown();
    expect(await blocked).toMatchObject({ code: 11602 });
    await shard.run('db', { insert: 'c', documents: [{ _id: 2 }] }, shard.user);
  });

  it("aborts index builds of users' databases when it is set, and when it is set again", async () => {
    using shard = new BlockedShard('6.0');
    const point = new FailPoint();
    shard.shard.holdBuildsAt(point);
    point.configure(doc(['mode', 'alwaysOn']));
    const build = (db: string) => shard.run(db, { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
    for (let time = 1; time <= 2; time += 1) {
      const [ofUser, ofServer] = [failureOf(build('db')), build('config')];
      await shard.block(true);
      expect(await ofUser).toMatchObject({ code: 276 });
      point.configure(doc(['mode', 'off']));
      await ofServer;
      point.configure(doc(['mode', 'alwaysOn']));
      await shard.run('config', { drop: 'c' });
    }
    point.configure(doc(['mode', 'off']));
    await build('db');
  });

  it('has a reason since 8.0.13, under which alone a replica set lifts it', async () => {
    using shard = new BlockedShard('8.0');
    await shard.block(true, 'DiskUseThresholdExceeded');
    const { writeBlock } = shard.deployment;
    expect(writeBlock.reasonNumber).toBe(2);
    const refused = await failureOf(shard.run('db', { create: 'c' }, shard.user));
    expect(refused).toEqual({ code: 371, message: 'User writes blocked, reason: DiskUseThresholdExceeded' });
    for (const global of [true, false]) {
      expect(await failureOf(shard.block(global))).toMatchObject({
        code: 20,
        message: expect.stringMatching(/reason: Unspecified, current: DiskUseThresholdExceeded$/) as unknown,
      });
    }
    expect(await failureOf(shard.block(true, 'Whatever'))).toMatchObject({ code: 2 });
    await shard.block(false, 'DiskUseThresholdExceeded');
    expect([writeBlock.enabled, writeBlock.reasonNumber]).toEqual([false, 0]);
    await shard.block(true, 'DiskUseThresholdExceeded');
    await shard.block(false, undefined, false);
    expect(writeBlock.enabled).toBe(false);
    expect(new BlockedShard('7.0').deployment.writeBlock.reasonNumber).toBeUndefined();
  });
});
