import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { isAlive } from './is-alive.js';
import { needs } from './requirements.js';

/** A small demo has every kind of collection, too. */
const documents = '5000';
/** The demo with --reverse goes the whole way of the other one first. */
const canReverse = { version: [6, 0] } as const;
const inFull = !needs(canReverse).skip;

test(
  'the demo ends with equal clusters and a summary (servers from 5.0)',
  needs({ version: [5, 0], inFull }),
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [convoyProgram, 'demo', '--documents', documents], {
      maxBuffer: 10_000_000,
    });
    expect(stdout).toMatch(/^ {2}copy +[\d.]+ s, [\d.]+ MB, /m);
    expect(stdout).toMatch(/^ {2}cut-over +[\d.]+ s/m);
    expect(stdout).toMatch(/^ {2}compared .*: equal$/m);
    // Its balancer is off, and with it the AutoMerger: nothing of that is missing.
    expect(stdout).not.toContain('leftBehind');
  },
);

test(
  'the demo goes back to the first cluster with --reverse, and ends equal (servers from 6.0)',
  needs(canReverse),
  async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [convoyProgram, 'demo', '--reverse', '--documents', documents],
      { maxBuffer: 10_000_000 },
    );
    expect(stdout).toMatch(/^ {2}copy +[\d.]+ s, [\d.]+ MB, /m);
    expect(stdout).toMatch(/^ {2}cut-over +[\d.]+ s/m);
    expect(stdout).toMatch(/^ {2}reverse +[\d.]+ s until ready to commit, .*; meanwhile [1-9][\d,]* inserts/m);
    expect(stdout).toMatch(/^ {2}compared .*: equal$/m);
  },
);

test('a demo that is interrupted leaves no process behind (servers from 5.0)', needs({ version: [5, 0] }), async () => {
  const child = execFile(process.execPath, [convoyProgram, 'demo', '--documents', '1000']);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const pids = await new Promise<number[]>((resolve, reject) => {
    child.stdout?.on('data', (text: string) => {
      if (text.includes('Loading')) childrenOf(child.pid ?? 0).then(resolve, reject);
    });
  });
  // Two clusters, Redis, a coordinator, two instances and their cleaner.
  expect(pids.length).toBeGreaterThanOrEqual(7);
  child.kill('SIGINT');
  expect(await exited).toBe(130);
  await expect.poll(() => pids.filter(isAlive), { timeout: 100_000 }).toEqual([]);
});

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', String(pid)]);
  return stdout.trim().split(/\s+/).map(Number);
}
