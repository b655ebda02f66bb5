import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { Cluster, Door } from '../cluster/door.js';
import { codeOf } from '../cluster/failure.js';
import { writeBlockVersion } from '../cluster/write-block.js';
import type { Advice } from './examination.js';

/** A featureCompatibilityVersion: release as two numbers. */
type Release = readonly [number, number];

/** The feature compatibility versions that the nodes show; null where they may not be read. */
export interface FeatureVersions {
  source: Release | null;
  destination: Release | null;
}

/** First release that reads at one time outside transactions. */
const READS_AT_A_TIME: Release = [5, 0];
/** First release with user write blocking. */
const BLOCKS_WRITES: Release = [writeBlockVersion, 0];

/**
 * Whether the feature compatibility versions allow a migration: the source has what the copy relies on, the destination
 * can hold what the source's release allows, both can block writes where that is asked for, and no upgrade or downgrade
 * is under way.
 * @throws ConvoyError `unsupportedServerVersion`, `writeBlockingNeedsSource60`
 */
export async function checkFeatureVersions(
  source: Cluster,
  destination: Cluster,
  { enableUserWriteBlocking }: Pick<StartRequest, 'enableUserWriteBlocking'>,
  signal: AbortSignal,
): Promise<FeatureVersions> {
  const versions = { source: await featureVersion(source, signal), destination: await featureVersion(destination, signal) };
  if (versions.source !== null && isOlder(versions.source, READS_AT_A_TIME)) {
    throw new ConvoyError('unsupportedServerVersion', `The featureCompatibilityVersion of the source is ${text(versions.source)}; set it to ${text(READS_AT_A_TIME)} or later.`);
  }
  if (versions.source !== null && versions.destination !== null && isOlder(versions.destination, versions.source)) {
    throw new ConvoyError('unsupportedServerVersion', `The featureCompatibilityVersion of the destination is ${text(versions.destination)}, below the source's ${text(versions.source)}; raise it there.`);
  }
  if (enableUserWriteBlocking && versions.source !== null && isOlder(versions.source, BLOCKS_WRITES)) {
    throw new ConvoyError('writeBlockingNeedsSource60', `The featureCompatibilityVersion of the source is ${text(versions.source)}, which cannot block writes; set it to ${text(BLOCKS_WRITES)} or later, or leave out enableUserWriteBlocking.`);
  }
  return versions;
}

/** One sentence about both. */
export function describeFeatureVersions({ source, destination }: FeatureVersions): Advice | string {
  if (source !== null && destination !== null) return `featureCompatibilityVersion ${text(source)} on the source, ${text(destination)} on the destination.`;
  return { result: 'unchecked', description: 'Not checked: the users may not read admin.system.version on both clusters.' };
}

/** The document is the config server's on a sharded cluster, which sets all shards' together. */
async function featureVersion(cluster: Cluster, signal: AbortSignal): Promise<Release | null> {
  const row = await versionDocument(cluster.router, signal);
  if (row === null) return null;
  if (row.targetVersion !== undefined || row.previousVersion !== undefined) {
    throw new ConvoyError('unsupportedServerVersion', `${cluster.name} is between two feature compatibility versions; finish the upgrade or downgrade first.`);
  }
  const [major, minor] = String(row.version).split('.').map(Number);
  return major === undefined || minor === undefined || Number.isNaN(major + minor) ? null : [major, minor];
}

async function versionDocument(router: Door, signal: AbortSignal): Promise<Document | null> {
  const command = { find: 'system.version', filter: { _id: 'featureCompatibilityVersion' }, limit: 1 };
  try {
    const reply = await router.command('admin', command, { signal });
    return (reply.cursor as { firstBatch: Document[] }).firstBatch[0] ?? null;
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return null;
  }
}

function isOlder(a: Release, b: Release): boolean {
  return a[0] !== b[0] ? a[0] < b[0] : a[1] < b[1];
}

function text([major, minor]: Release): string {
  return `${major}.${minor}`;
}
