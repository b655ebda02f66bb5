import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import { checkReverse } from '../../../../src/lifecycle/commands/check-reverse.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { FakeDoor } from '../../cluster/fake-door.js';
import { fakeCluster } from '../../fake-door.js';
import { never, once } from '../../model/parts.js';

const [former, next] = [{ name: 'cluster0', clusterId: '01' }, { name: 'cluster1', clusterId: '02' }];
/** What was asked of the former source's block. */
let sent: unknown[];

beforeEach(() => {
  sent = [];
});

function recordIn(phase: MigrationRecord['phase'], turns: number): MigrationRecord {
  const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', reversible: true, enableUserWriteBlocking: true, verification: { enabled: false } });
  const [source, destination] = turns % 2 === 0 ? [former, next] : [next, former];
  return { options, phase, failure: null, source, destination, commit: { time: timestampOf(5n) }, reversal: { turns, openedAt: timestampOf(6n), isOver: false } } as unknown as MigrationRecord;
}

/** @param records that are found at each look */
async function check(records: MigrationRecord[]): Promise<void> {
  const answer = (command: Document): Document => {
    if ('setUserWriteBlockMode' in command) sent.push(command.global);
    return { operationTime: timestampOf(7n) };
  };
  const router = new FakeDoor(answer, { resumeToken: '820000000000000009' });
  const cluster = fakeCluster({ router, version: [6, 0, 0] });
  await checkReverse({
    runtime: { retrying: once },
    records: { read: () => Promise.resolve(records.shift() ?? null) },
    former: { ...cluster, ...former },
    next: { ...cluster, ...next },
    record: recordIn('committed', 0),
    signal: never,
  });
}

it('the former source is closed to users before a reverse', async () => {
  await check([recordIn('committed', 0), recordIn('committed', 0)]);
  expect(sent).toEqual([true]);
});

it.each([
  ['stays closed when others have reversed the migration meanwhile', recordIn('syncing', 1), [true]],
  ['is opened again when they have committed it back to that cluster', recordIn('committed', 1), [true, false]],
  ['is opened again when they have reversed it once more', recordIn('syncing', 2), [true, false]],
])('by a process that was frozen there it %s', async (_what, found, expected) => {
  await check([recordIn('committed', 0), found, found]);
  expect(sent).toEqual(expected);
});

it('it stays open when they had committed the migration back to it before', async () => {
  await check([recordIn('committed', 1)]);
  expect(sent).toEqual([false]);
});
