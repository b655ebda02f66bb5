import { defaultVersion } from '@convoy/simulator/internal/node/server-version';
import { MongoClient } from 'mongodb';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type MigrationSide, type Servers, serversOf } from './servers-of.js';

/**
 * Version of the servers that `startTestCluster` would start, known before the start.
 * @param release requested release; only simulated servers support others
 * @param side none for a cluster that is not part of a migration
 */
export async function backendVersion(
  release: string = defaultVersion.text,
  side?: MigrationSide,
): Promise<readonly [number, number, number]> {
  return versionOf(serversOf(side), release);
}

/**
 * The servers from which a cluster of a release is started: those of its side, or else of the other side, of a pair of
 * releases; none where neither has it, so that it is simulated.
 */
export async function serversFor(release: string | undefined, side?: MigrationSide): Promise<Servers> {
  const own = serversOf(side);
  if (release === undefined) return own;
  for (const servers of [own, serversOf('source'), serversOf('destination')]) {
    const [major, minor] = await versionOf(servers, release);
    if (servers.kind !== 'simulator' && release === `${major}.${minor}`) return servers;
  }
  return { kind: 'simulator' };
}

async function versionOf(servers: Servers, release: string): Promise<readonly [number, number, number]> {
  if (servers.kind === 'simulator') return simulatedVersion(release);
  if (servers.kind === 'containers') return imageVersion(servers.image);
  const program = join(servers.folder, 'mongod');
  const { stdout } = await promisify(execFile)(program, ['--version']);
  const [, major, minor, patch] = /v(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) throw new Error(`${program} does not print its version.`);
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

const buildInfo = z.object({ versionArray: z.tuple([z.number(), z.number(), z.number()]).rest(z.number()) });

/** The version that the servers report, for example [5, 0, 7]. */
export async function serverVersion(connectionString: string): Promise<readonly [number, number, number]> {
  const client = new MongoClient(connectionString);
  try {
    const { versionArray } = buildInfo.parse(await client.db('admin').command({ buildInfo: 1 }));
    return [versionArray[0], versionArray[1], versionArray[2]];
  } finally {
    await client.close();
  }
}
