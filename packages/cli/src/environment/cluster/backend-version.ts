import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The version that the simulator models; its servers say so themselves. */
const simulatorVersion = [5, 0, 7] as const;

/** Version of the servers that `startTestCluster` would start, known before any is started. */
export async function backendVersion(): Promise<readonly [number, number, number]> {
  const binaries = process.env['MONGO_BIN'];
  if (!binaries) return simulatorVersion;
  const { stdout } = await promisify(execFile)(join(binaries, 'mongod'), ['--version']);
  const [, major, minor, patch] = /v(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) throw new Error(`${join(binaries, 'mongod')} does not tell its version.`);
  return [Number(major), Number(minor), Number(patch)];
}
