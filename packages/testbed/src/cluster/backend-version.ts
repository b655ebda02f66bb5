import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The simulator's default release; its servers report it. */
const simulatedRelease = '5.0.7';

/**
 * Version of the servers that `startTestCluster` would start, known before the start.
 * @param release requested release; only simulated servers support others
 */
export async function backendVersion(release: string = simulatedRelease): Promise<readonly [number, number, number]> {
  const { MONGO_BIN: binaries, MONGO_IMAGE: image } = process.env;
  if (!binaries) return image ? imageVersion(image) : simulatedVersion(release);
  const { stdout } = await promisify(execFile)(join(binaries, 'mongod'), ['--version']);
  const [, major, minor, patch] = /v(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) throw new Error(`${join(binaries, 'mongod')} does not print its version.`);
  return [Number(major), Number(minor), Number(patch)];
}

function simulatedVersion(release: string): readonly [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = release.split('.').map(Number);
  return [major, minor, patch];
}

/**
 * The version in an image tag, for example of `mongo:6.0`.
 * @throws Error for a tag without a version
 */
export function imageVersion(image: string): readonly [number, number, number] {
  const [, major, minor, patch = '0'] = /:v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(image) ?? [];
  if (major === undefined)
    throw new Error(`MONGO_IMAGE needs a tag with the version, for example mongo:6.0. ${image} has none.`);
  return [Number(major), Number(minor), Number(patch)];
}
