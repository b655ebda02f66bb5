import { blockedClusters } from '@convoy/api/contract/write-blocking';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient, Version } from '../cluster/node-client.js';
import { isOlder, readFeatureVersion, releaseText } from '../cluster/topology.js';
import { writeBlockVersion } from '../cluster/write-block.js';
import { type Advice, unchecked } from './examination.js';

/** The feature compatibility versions that the nodes report; null if they may not be read. */
interface FeatureVersions {
  source: Version | null;
  destination: Version | null;
}

/** First release with snapshot reads outside transactions. */
const readsAtATime: Version = [5, 0, 0];
/** First release with user write blocking. */
const blocksWrites: Version = [writeBlockVersion, 0, 0];

/**
 * Checks whether the feature compatibility versions allow a migration. The source needs what the copy relies on. The
 * destination must support what the source's release allows. Each must be able to block writes if it is to. No
 * upgrade or downgrade may be running or have started since Convoy connected.
 * @throws ConvoyError `unsupportedServerVersion`, `writeBlockingNeedsSource60`, `writeBlockingNeedsDestination60`
 */
export async function checkFeatureVersions(
  source: ClusterClient,
  destination: ClusterClient,
  { enableUserWriteBlocking }: Pick<StartRequest, 'enableUserWriteBlocking'>,
  signal: AbortSignal,
): Promise<FeatureVersions> {
  const versions = {
    source: await settledVersion(source, signal),
    destination: await settledVersion(destination, signal),
  };
  if (versions.source !== null && isOlder(versions.source, readsAtATime)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The featureCompatibilityVersion of the source is ${releaseText(versions.source)}. Set it to ` +
        `${releaseText(readsAtATime)} or later.`,
    );
  }
  if (versions.source !== null && versions.destination !== null && isOlder(versions.destination, versions.source)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The featureCompatibilityVersion of the destination is ${releaseText(versions.destination)}, below the ` +
        `source's ${releaseText(versions.source)}. Raise it there.`,
    );
  }
  const blocked = blockedClusters(enableUserWriteBlocking);
  if (blocked.source && versions.source !== null && isOlder(versions.source, blocksWrites)) {
    throw new ConvoyError(
      'writeBlockingNeedsSource60',
      `The featureCompatibilityVersion of the source is ${releaseText(versions.source)}, which cannot block ` +
        `writes. Set it to ${releaseText(blocksWrites)} or later, or leave out enableUserWriteBlocking.`,
    );
  }
  if (blocked.destination && versions.destination !== null && isOlder(versions.destination, blocksWrites)) {
    throw new ConvoyError(
      'writeBlockingNeedsDestination60',
      `The featureCompatibilityVersion of the destination is ${releaseText(versions.destination)}, which cannot ` +
        `block writes. Set it to ${releaseText(blocksWrites)} or later, or leave out enableUserWriteBlocking.`,
    );
  }
  return versions;
}

/** One sentence about both. */
export function describeFeatureVersions({ source, destination }: FeatureVersions): Advice {
  if (source !== null && destination !== null)
    return (
      `featureCompatibilityVersion ${releaseText(source)} on the source, ${releaseText(destination)} on the ` +
      'destination.'
    );
  return unchecked('Not checked: the users may not read admin.system.version on both clusters.');
}

async function settledVersion({ name, router, version }: ClusterClient, signal: AbortSignal): Promise<Version | null> {
  const found = await readFeatureVersion(router, { signal });
  if (found?.isChanging === true) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `${name} is between two feature compatibility versions. Finish the upgrade or downgrade first.`,
    );
  }
  if (found !== null && isOlder(found.version, version)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The featureCompatibilityVersion of ${name} was lowered to ${releaseText(found.version)} since Convoy ` +
        "connected to it. Restart Convoy's processes.",
    );
  }
  return found?.version ?? null;
}
