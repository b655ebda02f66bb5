import type { StartRequest } from '@convoy/api/contract/start-request';
import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { isRecorded, recordedSeries, unseenProbes } from '@convoy/probes/recorded-releases';
import { nameSome } from '../catalog/name-some.js';
import { readBalancer } from '../cluster/balancer.js';
import { codeOf, failureName } from '../cluster/failure.js';
import { nameMoves } from '../cluster/moves-under-way.js';
import type { ClusterClient, NodeClient, Version } from '../cluster/node-client.js';
import { reachOf, readOplogWindow } from '../cluster/oplog-window.js';
import { binaryVersion, howToSetIds, isOlder, readFeatureVersion, releaseText } from '../cluster/topology.js';
import { writeBlockVersion } from '../cluster/write-block.js';
import { type Advice, unchecked, warning } from './examination.js';

/** Oldest source, and so oldest destination: change streams over a whole cluster by time, as Convoy reads them. */
const OLDEST_VERSION: Version = [4, 4, 0];

/** First release with snapshot reads (`atClusterTime`) outside transactions, which the copy needs. */
const READS_AT_A_TIME: Version = [5, 0, 0];

/** What a cluster that was restored from files needs to be another one. */
const restoredShards =
  'give it a clusterId of its own, in config.version of its config servers and in the shardIdentity document of ' +
  'admin.system.version on every shard.';

/**
 * Two clusters must be different ones. Files that are restored as another cluster keep the id.
 * @throws ConvoyError `sourceEqualsDestination`
 */
function refuseSameCluster(source: ClusterClient, destination: ClusterClient): void {
  if (source.clusterId !== destination.clusterId) return;
  const isNamedAlike = source.shardIds.join() === destination.shardIds.join();
  const both = `${source.name} and ${destination.name}`;
  const what = isNamedAlike ? `${both} are the same cluster.` : `${both} have one cluster id, though other names.`;
  const ownId = source.kind === 'sharded' ? restoredShards : `give it an id of its own. ${howToSetIds}`;
  throw new ConvoyError(
    'sourceEqualsDestination',
    `${what} Configure two different ones; or if one was restored from a copy of the other's files, ${ownId}`,
  );
}

/**
 * Checks whether two clusters can be source and destination of a migration.
 * @returns what they are
 * @throws ConvoyError `sourceEqualsDestination`, `unsupportedServerVersion` or `featureNotAvailable`
 */
export function checkClusters(source: ClusterClient, destination: ClusterClient): Advice {
  refuseSameCluster(source, destination);
  const [from, to] = [binaryVersion(source), binaryVersion(destination)];
  if (isOlder(from, OLDEST_VERSION)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The source ${source.name} is too old: it runs ${releaseText(from)}. Convoy needs ` +
        `${releaseText(OLDEST_VERSION)} or later; upgrade it.`,
    );
  }
  if (isOlder(from, READS_AT_A_TIME)) {
    throw new ConvoyError(
      'featureNotAvailable',
      `The source ${source.name} is too old: it runs ${releaseText(from)}, which has no snapshot reads outside ` +
        `transactions. Upgrade it to ${releaseText(READS_AT_A_TIME)} or later.`,
    );
  }
  if (isOlder(to, from)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The destination ${destination.name} runs ${releaseText(to)}, which is older than the source's ` +
        `${releaseText(from)}. Upgrade it.`,
    );
  }
  return describeClusters(source, destination);
}

function describeClusters(source: ClusterClient, destination: ClusterClient): Advice {
  const described = `${describeCluster(source)} to ${describeCluster(destination)}.`;
  if (source.directRefusal === undefined) return described;
  const description =
    `${described} Convoy reads the source through its router, which is slower. ${source.directRefusal} Or set ` +
    'sourceAccess to router.';
  return warning('sourceReadThroughRouter', description);
}

/** To start instances, users need the names of all shards; longer lists are available elsewhere. */
const shardsNamedMax = 64;

function describeCluster(cluster: ClusterClient): string {
  const { name, kind, shardIds } = cluster;
  const shards = `${shardIds.length} shards: ${nameSome(shardIds, shardsNamedMax)}`;
  return `${name} (${binaryVersion(cluster).join('.')}, ${kind === 'sharded' ? shards : 'replica set'})`;
}

/** Releases that `docs/guide/support.md` calls real: the probes, and most tests, ran on servers of them. */
const testedText = recordedSeries.join(', ');

/**
 * Says of each cluster's release whether Convoy was tested on real servers of it. Another check refuses what is too
 * old. Of an untested release Convoy knows the documentation and public tests only; probes try the rest.
 */
export function adviseUnseen(source: ClusterClient, destination: ClusterClient): Advice {
  const clusters = [source, destination].map((cluster) => {
    const version = binaryVersion(cluster);
    const tried = isRecorded(version) ? 'tested' : 'untested';
    return { cluster, version, word: isOlder(version, READS_AT_A_TIME) ? 'too old' : tried };
  });
  const words = clusters.map(({ cluster, version, word }) => `${cluster.name} (${version.join('.')}): ${word}`);
  const untested = clusters.filter(({ word }) => word === 'untested');
  if (untested.length === 0) return `${words.join('; ')}.`;
  const probes = [...new Set(untested.flatMap(({ cluster, version }) => unseenProbes(version, cluster.kind)))];
  return unchecked(
    `${words.join('; ')}. Tested: ${testedText}. Run convoy probe on a staging cluster of the same release first ` +
      `(${probes.length} probes).`,
    probes,
  );
}

/** First release with user write blocking. */
const blocksWrites: Version = [writeBlockVersion, 0, 0];

/**
 * Checks whether the feature compatibility versions allow a migration. The source needs what the copy relies on. The
 * destination must support what the source's release allows. Each must be able to block writes if it is to. No
 * upgrade or downgrade may be running or have started since Convoy connected.
 * @returns one sentence about both
 * @throws ConvoyError `unsupportedServerVersion`, `writeBlockingNeedsSource60`, `writeBlockingNeedsDestination60`
 */
export async function checkFeatureVersions(
  source: ClusterClient,
  destination: ClusterClient,
  { enableUserWriteBlocking }: Pick<StartRequest, 'enableUserWriteBlocking'>,
  signal: AbortSignal,
): Promise<Advice> {
  const versions = {
    source: await settledVersion(source, signal),
    destination: await settledVersion(destination, signal),
  };
  if (versions.source !== null && isOlder(versions.source, READS_AT_A_TIME)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The featureCompatibilityVersion of the source is ${releaseText(versions.source)}. Set it to ` +
        `${releaseText(READS_AT_A_TIME)} or later.`,
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
  if (versions.source === null || versions.destination === null)
    return unchecked('Not checked: the users may not read admin.system.version on both clusters.');
  return (
    `featureCompatibilityVersion ${releaseText(versions.source)} on the source, ` +
    `${releaseText(versions.destination)} on the destination.`
  );
}

/** The feature compatibility version that the nodes report; null if it may not be read. */
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

/**
 * The start stops the balancers that it does not keep; one that runs matters because the start waits for its round. It
 * also waits for what somebody moves by hand. Beside a balancer that is kept, what is resharded ends the migration.
 */
export async function adviseBalancers(
  source: ClusterClient,
  destination: ClusterClient,
  { keepBalancer }: StartRequest,
  signal: AbortSignal,
): Promise<Advice> {
  const read = async (cluster: ClusterClient) => ({
    name: cluster.name,
    isKept: cluster === source && keepBalancer === true,
    state: await readBalancer(cluster, { signal }),
  });
  const states = await Promise.all([source, destination].map(read));
  const stopped = states.filter(({ isKept, state }) => !isKept && (state?.enabled === true || state?.busy === true));
  const moving = states
    .map(({ name, state }) => ({ name, moves: nameMoves(state?.moves ?? []) }))
    .filter(({ moves }) => moves !== '')
    .map(({ name, moves }) => ` Under way on ${name}: ${moves}.`)
    .join('');
  const named = stopped
    .filter(({ state }) => state?.enabled === true || state?.moves.length === 0)
    .map(({ name, state }) => `${name} (${state?.busy === true ? 'migrating chunks now' : 'idle'})`)
    .join(', ');
  const rounds =
    named === ''
      ? 'No balancer is running.'
      : `The balancers of ${named} are on. The start stops them and waits for their round to end. The commit ` +
        'restores them.';
  if (moving === '') return rounds;
  const wait = stopped.some(({ state }) => (state?.moves.length ?? 0) > 0)
    ? ' The start waits until that has ended.'
    : '';
  const isResharded = states.some(
    ({ isKept, state }) => isKept && state?.moves.some(({ kind }) => kind === 'resharding'),
  );
  const end = isResharded ? ' A collection that is resharded ends the migration: wait until that has ended.' : '';
  return `${rounds}${moving}${wait}${end}`;
}

/**
 * Recommended oplog window. Convoy applies changes while it copies data, so the oplog need not outlast the copy. It
 * must outlast every time in which Convoy does not read it: a pause, an outage, a destination that refuses writes.
 */
const WINDOW_RECOMMENDED_SECONDS = 6 * 3600;

interface ShardWindow {
  shard: string;
  /** Seconds that the oplog reaches back, or would if it were full; null if it may not be read. */
  window_seconds: number | null;
  refusal: string;
}

/** Checks how far the oplogs of the source's shards reach back. */
export async function checkOplogWindow(source: ClusterClient, signal: AbortSignal): Promise<Advice> {
  if (source.access === 'router')
    return unchecked(
      'Not checked: Convoy reads the source through its router, which does not show the oplogs of the shards.',
    );
  const windows = await Promise.all(source.shardIds.map((id) => readWindow(id, source.shard(id), signal)));
  const unread = windows.filter(({ window_seconds }) => window_seconds === null);
  if (unread.length > 0) {
    const refusals = unread.map(({ shard, refusal }) => `${shard} did not show its oplog: ${refusal}`);
    return unchecked(`Not checked: ${nameSome(refusals)}.`);
  }
  const short = windows.filter(({ window_seconds }) => (window_seconds ?? 0) < WINDOW_RECOMMENDED_SECONDS);
  const named = (some: ShardWindow[]): string =>
    nameSome(some.map(({ shard, window_seconds }) => `${shard} ${duration(window_seconds ?? 0)}`));
  if (short.length === 0) return `The oplogs reach back: ${named(windows)}.`;
  return warning(
    'oplogWindowShort',
    `The oplog window of the source is too short at the current write rate: ${named(short)}. A longer pause or ` +
      'outage ends the migration. Enlarge the oplogs with replSetResizeOplog.',
  );
}

async function readWindow(shard: string, client: NodeClient, signal: AbortSignal): Promise<ShardWindow> {
  try {
    return { shard, window_seconds: reachOf(await readOplogWindow(client, signal)), refusal: '' };
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return { shard, window_seconds: null, refusal: failureName(error) };
  }
}

function duration(seconds: number): string {
  if (seconds === Infinity) return '(not full yet, too young to estimate)';
  const hours = seconds / 3600;
  if (hours >= 72) return 'more than 72 hours';
  return hours >= 1 ? `${Math.floor(hours)} hours` : `${Math.floor(seconds / 60)} minutes`;
}
