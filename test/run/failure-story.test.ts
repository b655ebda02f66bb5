import { expect, onTestFinished, test } from 'vitest';
import { rmSync } from 'node:fs';
import { ProcessLogs } from '../process-logs.js';

interface Failure {
  file: string;
  name?: string;
  message: unknown;
  meta?: { seed?: number; logs?: string };
}

const script = new URL('../../scripts/failure-story.mjs', import.meta.url).href;
const { failureStory } = (await import(script)) as { failureStory: (failure: Failure) => string };

test('the report of a failed test has the first failure and the last lines of each log of its process', () => {
  const logs = new ProcessLogs();
  const log = logs.open('instance shard0');
  log.write('{"level":"info","msg":"of another test"}\n');
  logs.clear();
  log.write('{"level":"error","event":"failed","error":"writeRefused"}\n');
  for (let n = 0; n < 100; n += 1) log.write(`{"level":"info","msg":"line ${n}"}\n`);
  const folder = logs.keep() ?? '';
  onTestFinished(() => rmSync(folder, { recursive: true }));

  const story = failureStory({
    file: 'a.test.ts',
    name: 'moves all',
    message: 'expected 200',
    meta: { seed: 7, logs: folder },
  });
  expect(story.split('\n').map((line) => line.trim())).toEqual([
    'a.test.ts > moves all: expected 200',
    `logs: ${folder}`,
    'instance-shard0-1.log has failures:',
    '| {"level":"error","event":"failed","error":"writeRefused"}',
    'instance-shard0-1.log ends with:',
    ...Array.from({ length: 15 }, (_, n) => `| {"level":"info","msg":"line ${85 + n}"}`),
    "alone: CONVOY_TEST_SEED=7 npm test -- a.test.ts -t 'moves.*all$'",
  ]);
});

test('a test that logged nothing leaves nothing', () => {
  const logs = new ProcessLogs();
  logs.open('instance');
  expect(logs.keep()).toBeUndefined();
});
