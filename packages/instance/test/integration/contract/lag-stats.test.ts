import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import { anyReleases } from './releases.js';
import { startBody } from './start-conditions.js';
import { sampled } from '../../../../../test/seed.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, anyReleases);
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany(Array.from({ length: 100 }, (_, n) => ({ n })));
});

afterEach(() => fixture.clear());

const oplogWords = /^(?:not checked yet|less than 15 minutes|\d+ minutes|1 hour|\d+ hours|more than 72 hours)$/;

const accesses = [
  ['direct', oplogWords],
  ['router', null],
] as const;

it.each(sampled(accesses))(
  'has the lag in parts, round trips, the time to catch up and that of the oplog, with access %s',
  async (sourceAccess, oplogTime) => {
    await using instance = await fixture.startInstance({ sourceAccess });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const { lag, source, destination, estimatedSecondsToCEACatchup, estimatedOplogTimeRemaining } =
      await instance.until('all stats are known, and no warning is left', (progress) => {
        return (
          progress.warnings?.length === 0 &&
          progress.lag?.ddlLagSeconds !== null &&
          progress.source?.pingLatencyMs !== null &&
          progress.destination?.pingLatencyMs !== null
        );
      });
    const { overallLagSeconds, crudLagSeconds, ddlLagSeconds } = lag ?? {};
    expect(overallLagSeconds).toBe(Math.max(crudLagSeconds ?? 0, ddlLagSeconds ?? 0));
    expect([source?.pingLatencyMs, destination?.pingLatencyMs]).toSatisfy((pings: number[]) =>
      pings.every((ping) => ping >= 0),
    );
    expect(estimatedSecondsToCEACatchup).toBe(0);
    if (oplogTime === null) expect(estimatedOplogTimeRemaining).toBeNull();
    else expect(estimatedOplogTimeRemaining).toMatch(oplogTime);

    await instance.accepted('pause');
    expect(await instance.progress()).toMatchObject({
      lagTimeSeconds: null,
      lag: { overallLagSeconds: null, crudLagSeconds: null, ddlLagSeconds: null },
      estimatedSecondsToCEACatchup: null,
    });
    await instance.accepted('resume');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    const end = await instance.untilState('COMMITTED');
    expect(end).toMatchObject({
      lag: { overallLagSeconds: 0, crudLagSeconds: 0, ddlLagSeconds: 0 },
      estimatedSecondsToCEACatchup: 0,
      estimatedOplogTimeRemaining: null,
    });
  },
);
