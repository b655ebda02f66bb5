import { describe, expect, it } from 'vitest';
import { CommitReadiness, type JudgedStats } from '../../../../src/lifecycle/instance/commit-offer.js';
import { offeredLagMax_seconds } from '../../../../src/lifecycle/task/task-stats.js';

const ready: JudgedStats = { copyDone: true, followsStream: true, lag_seconds: 5 };
const behind = (lag_seconds: number): JudgedStats => ({ ...ready, lag_seconds });

describe('a commit would succeed', () => {
  it.each([
    ['when all own tasks are copied and near the source', [ready, ready], 2, []],
    ['not while a task is missing', [ready], 2, ['its work has not begun yet']],
    [
      'not while a task is being copied',
      [ready, { ...ready, copyDone: false }],
      2,
      ['collections are still being copied'],
    ],
    [
      'not while collections are being copied, which it names once each',
      ['b', 'a'].map((name) => ({ ...ready, copyDone: false, copying: [`shop.${name}`, 'shop.c'] })),
      2,
      ['collections are still being copied: shop.a, shop.b, shop.c'],
    ],
    ['not while a task is more than 30 s behind', [ready, behind(31)], 2, ['changes are 31 s behind (limit 30 s)']],
    [
      'not while a task does not follow its stream yet',
      [ready, { ...ready, followsStream: false }],
      2,
      ['the change stream has not answered yet'],
    ],
  ])('%s', (_what, tasks, count, missing) => {
    expect(new CommitReadiness().judge(tasks, count).map(({ description }) => description)).toEqual(missing);
  });
});

it('a lag is reported with its limit', () => {
  expect(new CommitReadiness().judge([behind(31)], 1)).toMatchObject([{ reason: 'lag', value: 31, limit: 30 }]);
});

describe('an offered commit', () => {
  it('stays offered while the lag swings around the limit of the offer, and ends well above it', () => {
    const readiness = new CommitReadiness();
    const lags = [30, 31, 30, offeredLagMax_seconds, offeredLagMax_seconds + 1, 31, 30];
    expect(lags.map((lag) => readiness.judge([behind(lag)], 1).length === 0)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      true,
    ]);
  });

  it('ends with a pause', () => {
    const readiness = new CommitReadiness();
    readiness.judge([ready], 1);
    readiness.withdraw();
    expect(readiness.judge([behind(31)], 1)).not.toEqual([]);
  });
});
