import { beforeEach, expect, it } from 'vitest';
import type { MigrationWatch } from '../../../../src/store/migration-watch.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import { reportPause } from '../../../../src/lifecycle/instance/instance-reporter.js';
import { Condition } from '../../../../src/async/waiting.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { viewWith } from '../../model/migration-state.js';
import { never, settled } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import { runtimeWith } from '../../model/deps-with.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';

let record: MigrationRecord;
let changed: Condition;
let watch: MigrationWatch;
let sleeps: { pause_ms: number; end: () => void }[];
let runtime: Runtime;
let isOver: boolean;

beforeEach(() => {
  [changed, sleeps, isOver] = [new Condition(), [], false];
  const view = viewWith();
  ({ record } = view);
  const until = async (condition: (seen: MigrationView) => boolean, signal: AbortSignal): Promise<MigrationView> => {
    await changed.until(() => condition(view), signal);
    return view;
  };
  watch = only<MigrationWatch>({ view, until });
  runtime = runtimeWith({
    clock: { sleep: (pause_ms: number) => new Promise<void>((end) => sleeps.push({ pause_ms, end })) },
  });
});

async function begin(of: Parameters<typeof reportPause>[0]): Promise<void> {
  void reportPause(of, runtime, 250, never).then(() => (isOver = true));
  await settled();
}

it('the next report is due as soon as writes are permitted', async () => {
  await begin({ watch, comparing: null });
  changed.changed();
  await settled();
  expect(isOver).toBe(false);
  record.canWrite = true;
  changed.changed();
  await settled();
  expect(isOver).toBe(true);
});

it('the next report is due as soon as everything is compared', async () => {
  let compared: () => void = () => undefined;
  await begin({ watch, comparing: () => new Promise((resolve) => (compared = resolve)) });
  expect(isOver).toBe(false);
  compared();
  await settled();
  expect(isOver).toBe(true);
});

it.each(['before a migration', 'of one', 'of one that permits writes'])(
  'the next report is due after a time: %s',
  async (state) => {
    record.canWrite = state === 'of one that permits writes';
    await begin(state === 'before a migration' ? null : { watch, comparing: null });
    expect([isOver, sleeps.map(({ pause_ms }) => pause_ms)]).toEqual([false, [250]]);
    sleeps[0]?.end();
    await settled();
    expect(isOver).toBe(true);
  },
);
