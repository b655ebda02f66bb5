import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idleFleetProgress, type FleetInstance, type FleetProgress } from '@convoy/api/contract/fleet-progress';
import { idleProgress, type MigrationState, type Progress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { createHttpApp } from '@convoy/api/http/http-app';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { RecordingService } from '../../../../api/test/unit/http/recording-service.js';
import { runCommand } from '../../command-host.js';

const running: Progress = {
  ...idleProgress(),
  state: 'RUNNING',
  info: 'collection copy',
  collectionCopy: { estimatedTotalBytes: 200, estimatedCopiedBytes: 50 },
};

/** Changes to a command's target state as soon as it is accepted. */
class SteeredService extends RecordingService {
  readonly after: Partial<Record<string, Progress>> = {};

  override async progress(): Promise<Progress> {
    const last = this.calls.filter(({ command }) => command !== 'progress').at(-1);
    await super.progress();
    return this.after[last?.command ?? ''] ?? this.report;
  }
}

let service: SteeredService;
let url: string;
let end: () => Promise<void>;

beforeEach(async () => {
  service = new SteeredService();
  const app = await createHttpApp({
    service,
    access: { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false },
    isReady: () => true,
  });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
  end = () => app.close();
});

afterEach(() => end());

test('start shows its options, from a file and flags, and waits until a commit is possible', async () => {
  using folder = ScratchFolder.create('test');
  const file = folder.file('options.json');
  writeFileSync(
    file,
    JSON.stringify({
      source: 'cluster1',
      destination: 'cluster0',
      buildIndexes: 'never',
      verification: { enabled: false },
    }),
  );
  service.after['start'] = { ...running, canCommit: true };
  const started = await runCommand(
    'start',
    '--options-file',
    file,
    '--source',
    'cluster0',
    '--destination',
    'cluster1',
    '--index-conflicts',
    'majority',
    '--index-failures',
    'skip',
    '--wait',
    '--url',
    url,
  );
  expect(started).toMatchObject({ code: 0, stderr: '' });
  expect(started.stdout).toMatch(/^ {2}indexConflicts +majority$/m);
  expect(started.stdout).toMatch(/^ {2}source +cluster0$/m);
  expect(started.stdout).toMatch(/^ {2}buildIndexes +never$/m);
  expect(started.stdout).toMatch(/^ {2}reversible +no \(default\)$/m);
  expect(started.stdout).toMatch(/^Next: Stop the writers of the source, then run convoy commit\.$/m);
  expect(service.calls[0]).toMatchObject({
    command: 'start',
    request: {
      source: 'cluster0',
      buildIndexes: 'never',
      indexConflicts: 'majority',
      indexFailures: 'skip',
      verification: { enabled: false },
    },
  });
});

test('a start with invalid options sends nothing', async () => {
  using folder = ScratchFolder.create('test');
  const file = folder.file('options.json');
  writeFileSync(file, JSON.stringify({ buildIndex: 'never' }));
  const refused = await runCommand('start', '--options-file', file, '--url', url);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('buildIndex') as string });
  expect(service.calls).toEqual([]);
});

test.each([
  ['pause', { ...running, state: 'PAUSED' as const }, 'Next: Run convoy resume'],
  ['resume', running, 'Next: Wait until canCommit is true'],
  ['commit', { ...running, state: 'COMMITTED' as const, canWrite: true }, 'Next: Point the writers at the destination'],
  ['reverse', { ...running, canCommit: true }, 'Next: Stop the writers of the source'],
])('%s prints the next step, and --wait waits until it is done', async (command, after, next) => {
  const reported = await runCommand(command, '--url', url);
  expect(reported).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('convoy ') as string });
  service.after[command] = after;
  const waited = await runCommand(command, '--wait', '--url', url);
  expect(waited).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(next) as string });
  expect(service.calls.filter((call) => call.command === command)).toHaveLength(2);
});

function rowOf(id: string, state: MigrationState): FleetInstance {
  return {
    ...{ id, state, syncID: id, release: '2.0.0', problems: [], reachable: true, secondsSinceHeartbeat: 0 },
    ...{ canCommit: false, info: null, lagTimeSeconds: null, totalEventsApplied: null, eventsPerSecond: null },
    ...{ estimatedCopiedBytes: null, copyBytesPerSecond: null, error: null, errorDescription: null },
  };
}

test.each([
  ['is away', { waitingFor: [{ instance: 'shard1', command: 'resume' as const, description: 'no heartbeat' }] }],
  ['is PAUSED', { instances: [rowOf('shard0', 'RUNNING'), rowOf('shard1', 'PAUSED')] }],
])('resume --wait goes on while an instance %s, although the fleet is RUNNING', async (_case, fields) => {
  const progress: FleetProgress = { ...idleFleetProgress(), ...running, ...fields };
  service.after['resume'] = progress;
  expect(await runCommand('resume', '--wait', '1', '--url', url)).toMatchObject({ code: 4 });
});

test('a timeout of --wait has its own exit code', async () => {
  service.report = running;
  const late = await runCommand('commit', '--wait', '1', '--url', url);
  expect(late).toMatchObject({ code: 4, stderr: expect.stringContaining('Not within 1 s') as string });
});

test('a rejection and a failed migration print the next step', async () => {
  service.failure = new ConvoyError('cannotCommit');
  expect(await runCommand('commit', '--url', url)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^cannotCommit: .*\nNext: .*convoy watch\n$/) as string,
  });
  service.failure = new ConvoyError('oplogHistoryLost');
  expect(await runCommand('watch', '--url', url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('oplogHistoryLost') as string,
  });
});

test('progress is text or JSON', async () => {
  service.report = running;
  const text = await runCommand('progress', '--url', url);
  expect(text.stdout).toMatch(/^RUNNING · collection copy\n\[#+-+\] 25\.0 % .*\nNext: /);
  expect(JSON.parse((await runCommand('progress', '--json', '--url', url)).stdout)).toEqual(running);
});

test('the collections of a lone instance need a coordinator, by name', async () => {
  expect(await runCommand('progress', '--collections', '--url', url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('only coordinators serve that') as string,
  });
  expect((await runCommand('progress', '--collections', '--sort', 'colour', '--url', url)).code).toBe(2);
});

/** Runs `convoy watch` until its first output, then `act`. */
async function watchAnd(act: (child: ChildProcessByStdio<null, Readable, Readable>) => void) {
  const args = [convoyProgram, 'watch', '--url', url];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  act(child);
  const [code] = (await exited) as [number | null];
  return { code, stdout: first.toString(), stderr };
}

test('Ctrl-C ends watch with exit code 130, and says that the migration continues', async () => {
  service.report = running;
  const ended = await watchAnd((child) => child.kill('SIGINT'));
  expect(ended).toMatchObject({ code: 130, stderr: expect.stringContaining('The migration continues') as string });
  // The cursor is never hidden, so that no end can leave it so.
  expect(ended.stdout).not.toContain('\u001b[?25l');
});

test('a reader that ends, such as head, ends watch without a message', async () => {
  service.report = running;
  const ended = await watchAnd((child) => {
    child.stdout.destroy();
    service.report = { ...running, lagTimeSeconds: 1 };
  });
  expect(ended).toMatchObject({ code: 130, stderr: '' });
});

test('--json prints replies, and the progress that --wait has waited for', async () => {
  expect(JSON.parse((await runCommand('pause', '--json', '--url', url)).stdout)).toEqual({ success: true });
  service.after['start'] = { ...running, canCommit: true };
  const started = await runCommand('start', '--json', '--wait', '--url', url);
  expect(started).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(started.stdout)).toEqual({ success: true, progress: service.after['start'] });
  service.after['commit'] = { ...running, state: 'COMMITTED', canWrite: true };
  expect((await runCommand('commit', '--json', '--url', url)).code).toBe(0);
  const watched = await runCommand('watch', '--json', '--url', url);
  expect(
    watched.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([service.after['commit']]);
});

test('--json prints every failure in the shape of the service', async () => {
  service.report = running;
  const late = await runCommand('commit', '--wait', '1', '--json', '--url', url);
  expect(late.code).toBe(4);
  expect(JSON.parse(late.stdout)).toMatchObject({ success: false, error: 'notInTime' });
  service.failure = new ConvoyError('cannotCommit');
  const refused = await runCommand('commit', '--json', '--url', url);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^cannotCommit: /) as string });
  expect(JSON.parse(refused.stdout)).toMatchObject({ success: false, error: 'cannotCommit' });
  const misused = await runCommand('commit', '--json', '--no-such-flag');
  expect(misused.code).toBe(2);
  expect(JSON.parse(misused.stdout)).toEqual({
    success: false,
    error: 'usageError',
    errorDescription: "unknown option '--no-such-flag'",
  });
});

test('the help fits a screen of 24 lines and 80 columns', async () => {
  const { code, stdout } = await runCommand('--help');
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  // The prompt needs a line too.
  expect(lines.length).toBeLessThanOrEqual(23);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

test('the help of a command fits 80 columns, by its flag and by its name', async () => {
  const { stdout } = await runCommand('start', '--help');
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(await runCommand('help', 'start')).toMatchObject({ code: 0, stdout });
});

test('completion prints a script', async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    expect(await runCommand('completion', shell)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('convoy') as string,
    });
  expect((await runCommand('completion', 'tcsh')).code).toBe(2);
});
