import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import type { Clusters } from './fleet.js';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `convoy` with arguments to its end; its state goes into `home`. */
export function convoy(home: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [convoyProgram, ...args],
      { env: { ...process.env, XDG_STATE_HOME: home } },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
      },
    );
  });
}

/** The arguments that compare two clusters, which settle for some seconds first. */
export function verifyOf({ source, destination }: Clusters, settle_seconds: number): string[] {
  const both = ['--source', source.connectionString, '--destination', destination.connectionString];
  return ['verify', ...both, '--settle', String(settle_seconds)];
}

/** The last event of a comparison with `--json`. */
export function resultIn(stdout: string): unknown {
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

/** For the state of comparisons, until the test ends. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-verify-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
