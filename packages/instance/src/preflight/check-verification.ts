import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { nameSome } from '../catalog/name-some.js';
import { type Catalog, namespaceOf } from '../catalog/namespace.js';
import { openChangeStream } from '../cluster/change-stream.js';
import { currentTime, timestampOf } from '../cluster/cluster-time.js';
import { classify, codeOf, failureName } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { type Advice, warning } from './examination.js';

/**
 * Minimum memory bound of a process that verifies: two reads of 16 MB documents at a time, a lookup on each side, and
 * the waiting keys, in addition to copying and applying.
 */
export const verifiedMemoryBytesMin = 96 * 2 ** 20;

/** What the check reads. */
interface VerificationCheck {
  source: ClusterClient;
  destination: ClusterClient;
  request: StartRequest;
  /** The process's memory bound; absent if it is unknown. */
  memoryBytesMax?: number;
  signal: AbortSignal;
}

/**
 * Checks whether a migration can be verified, if that is requested.
 * @returns the finding
 * @throws ConvoyError `verificationMemoryInsufficient`, `ttlCollectionWithVerification`, `verificationNotSupported`
 */
export async function checkVerification(check: VerificationCheck, catalog: Catalog): Promise<Advice> {
  const { source, destination, request, memoryBytesMax, signal } = check;
  if (!request.verification.enabled) return 'The migration is not verified.';
  if (memoryBytesMax !== undefined && memoryBytesMax < verifiedMemoryBytesMin) {
    throw new ConvoyError(
      'verificationMemoryInsufficient',
      `memoryBytesMax is ${memoryBytesMax}; the verifier needs at least ${verifiedMemoryBytesMin}. Raise it or ` +
        'start with verification.enabled false.',
    );
  }
  refuseExpiring(request, catalog);
  for (const cluster of [source, destination]) await probe(cluster, signal);
  if (!request.reversible) return 'Both clusters show what the verifier must read.';
  return warning('reverseNotVerified', 'The verifier works in the first direction only: a reverse is not verified.');
}

/**
 * Without indexes the destination does not expire documents as the source does.
 * @throws ConvoyError `ttlCollectionWithVerification`
 */
export function refuseExpiring(
  { verification, buildIndexes }: Pick<StartRequest, 'verification' | 'buildIndexes'>,
  catalog: Catalog,
): void {
  if (!verification.enabled || buildIndexes !== 'never') return;
  const expiring = catalog.filter(({ indexes }) =>
    indexes.some(({ expireAfterSeconds }) => expireAfterSeconds !== undefined),
  );
  if (expiring.length === 0) return;
  throw new ConvoyError(
    'ttlCollectionWithVerification',
    'With buildIndexes "never" the verifier cannot verify collections with TTL indexes: ' +
      `${nameSome(expiring.map(namespaceOf))}. Start with verification.enabled false.`,
  );
}

/** Opens what the verifier needs: a stream of the whole cluster. */
async function probe({ name, router, version }: ClusterClient, signal: AbortSignal): Promise<void> {
  try {
    const startAtOperationTime = timestampOf(await currentTime(router, { signal }));
    const stream = await openChangeStream(router, {
      startAtOperationTime,
      batchDocumentsMax: 1,
      signal,
      allChangesForCluster: true,
      version,
      timeSeries: true,
    });
    await stream.close();
  } catch (error) {
    // What passes says nothing about the cluster: whoever starts is told so, or tries again.
    if (codeOf(error) === null || classify(error) === 'retryable') throw error;
    throw new ConvoyError(
      'verificationNotSupported',
      `The verifier cannot open a change stream of the whole cluster on ${name}: ${failureName(error)}. Start ` +
        'with verification.enabled false.',
      { cause: error },
    );
  }
}
