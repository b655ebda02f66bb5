import { type Document, Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { MetadataRemoval, type MigrationWatch } from '../../../src/store/migration-watch.js';
import type { MigrationRecord } from '../../../src/store/migration-record.js';
import type { TaskRecord } from '../../../src/store/task-record.js';
import { FakeNodeClient, serverError } from '../fake-node-client.js';
import { recordWith, reversalWith } from '../model/migration-state.js';
import { never } from '../model/parts.js';
import { VirtualClock } from '../verify/embedded/virtual-clock.js';
import { only } from '../../../../../test/only.js';
import type { Runtime } from '../../../src/lifecycle/migration/runtime.js';
import type { Logger } from '../../../src/logging/logger.js';

const ended = new Error('ended');
const recordAt = (seconds: number, turns = 0): MigrationRecord =>
  recordWith({
    phase: 'committed',
    startTime: new Timestamp({ t: seconds, i: 1 }),
    reversal: reversalWith({ turns }),
  });
const own = recordAt(100);

/** Looks at each of these answers in turn, and ends after the last. */
async function lookAt(
  answers: readonly (MigrationRecord | null | Error)[],
): Promise<{ isRemoved: boolean; looks: number }> {
  const clock = new VirtualClock(() => 0);
  const ending = new AbortController();
  let looks = 0;
  const find = (): Document => {
    const answer = answers[looks];
    if (answer === undefined) {
      ending.abort(ended);
      throw ended;
    }
    looks += 1;
    if (answer instanceof Error) throw answer;
    return { cursor: { id: 0, ns: 'convoy_metadata.migration', firstBatch: answer ? [answer] : [] } };
  };
  const view = { record: own, tasks: new Map<string, TaskRecord>() };
  const removal = new MetadataRemoval(
    new FakeNodeClient('home', { find }),
    only<Runtime>({ clock, logger: only<Logger>({ info: () => undefined }) }),
    only<MigrationWatch>({ view, until: () => Promise.resolve(view) }),
  );
  await clock.run(removal.watch(AbortSignal.any([never, ending.signal])));
  return { isRemoved: removal.isRemoved, looks };
}

it('a committed migration counts as cleaned up once its record is gone', async () => {
  expect(await lookAt([own, own, null, own])).toEqual({ isRemoved: true, looks: 3 });
});

it('also once another migration is recorded in its place', async () => {
  const starting = { ...recordAt(200), startTime: null };
  expect(await lookAt([recordAt(200), own])).toMatchObject({ isRemoved: true, looks: 1 });
  expect(await lookAt([starting, own])).toMatchObject({ isRemoved: true, looks: 1 });
});

it('but not while its destination does not answer, nor when it is reversed', async () => {
  expect(await lookAt([serverError(91, 'ShutdownInProgress'), own, recordAt(300, 1)])).toEqual({
    isRemoved: false,
    looks: 3,
  });
});
