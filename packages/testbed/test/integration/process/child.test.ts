import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { Child, type ChildOptions } from '@convoy/testbed/process/child';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

const dist = (path: string) => pathToFileURL(fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url))).href;

const options = (folder: ScratchFolder, script: string): ChildOptions => ({
  name: 'child',
  command: process.execPath,
  args: ['-e', script],
  ready: /^ready (\d+)$/,
  readyWithin_ms: 20_000,
  logFile: folder.file('child.log'),
});

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('a child is ready after its line, and stops in order', async () => {
  using folder = ScratchFolder.create('test');
  const child = await Child.start(
    options(
      folder,
      `process.on('SIGTERM', () => process.exit(7)); console.log('ready 5'); setInterval(() => {}, 1000)`,
    ),
  );
  expect(child.ready[1]).toBe('5');
  expect(await child.stop()).toEqual({ code: 7, signal: null });
  expect(await child.stop()).toEqual({ code: 7, signal: null });
});

test('a killed child does not end in order', async () => {
  using folder = ScratchFolder.create('test');
  const child = await Child.start(
    options(folder, `process.on('SIGTERM', () => {}); console.log('ready 5'); setInterval(() => {}, 1000)`),
  );
  expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(isAlive(child.pid)).toBe(false);
});

test('what comes after the exit of a child, from one of its own, is in its log too', async () => {
  using folder = ScratchFolder.create('test');
  const later = `setTimeout(() => console.log('late'), 300)`;
  const script = `
    require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(later)}], { stdio: 'inherit' }).unref();
    console.log('ready 5'); process.exit(0)`;
  const child = await Child.start(options(folder, script));
  await child.exited;
  await expect.poll(() => readFileSync(folder.file('child.log'), 'utf8')).toBe('ready 5\nlate\n');
});

test('reports why a child ended before it was ready', async () => {
  using folder = ScratchFolder.create('test');
  await expect(Child.start(options(folder, `console.error('no such file'); process.exit(3)`))).rejects.toThrow(
    /child ended before it was ready \(exit code 3\).*no such file/s,
  );
});

test('kills a child that stays silent', async () => {
  using folder = ScratchFolder.create('test');
  await expect(Child.start({ ...options(folder, 'setInterval(() => {}, 1000)'), readyWithin_ms: 300 })).rejects.toThrow(
    'was not ready within 0.3 s',
  );
});

test('names a program that does not exist', async () => {
  using folder = ScratchFolder.create('test');
  await expect(Child.start({ ...options(folder, ''), command: 'no-such-program' })).rejects.toThrow(
    /could not be started: .*no-such-program/,
  );
});

test('children and folders do not outlive a killed process', async () => {
  const parent = `
    import { Child } from '${dist('process/child.js')}';
    import { ScratchFolder } from '${dist('process/scratch-folder.js')}';
    const folder = ScratchFolder.create('test');
    const child = await Child.start({
      name: 'child', command: process.execPath, args: ['-e', "console.log('ready'); setInterval(() => {}, 1000)"],
      ready: /^ready$/, readyWithin_ms: 20000, logFile: folder.file('child.log'),
    });
    console.log(JSON.stringify({ pid: child.pid, folder: folder.path }));
    process.stdout.write('', () => process.kill(process.pid, 'SIGKILL'));`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', parent]);
  const output = await run.then(
    () => Promise.reject(new Error('The parent was not killed.')),
    (error: unknown) => error as { signal: string; stdout: string },
  );
  expect(output.signal).toBe('SIGKILL');
  const { pid, folder } = JSON.parse(output.stdout.split('\n')[0] ?? '') as { pid: number; folder: string };
  await pollUntil('child and folder are gone', 60_000, () => !isAlive(pid) && !existsSync(folder));
});
