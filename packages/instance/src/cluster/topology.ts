import { ObjectId, type Document } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { codeOf, unauthorizedCode } from './failure.js';
import type { CallOptions, ClusterClient, NodeClient, Version } from './node-client.js';

/** The oldest version with what Convoy needs: streams of a whole cluster that start at a time, and UUIDs in tokens. */
const oldestVersion = [4, 4, 0] as const;

/** What a node reports about itself. */
export type NodeKind =
  { kind: 'router' } | { kind: 'member'; setName: string; isConfigServer: boolean } | { kind: 'standalone' };

/** One shard as the router knows it. */
export interface ShardAddress {
  id: string;
  setName: string;
  /** `host:port` of its members. */
  hosts: string[];
}

/** Asks a node for its identity. */
export async function nodeKind(client: NodeClient, options: CallOptions): Promise<NodeKind> {
  const hello = await client.command('admin', { hello: 1 }, options).catch(async (error: unknown) => {
    if (!isUnknownCommand(error)) throw error;
    return client.command('admin', { isMaster: 1 }, options);
  });
  if (hello.msg === 'isdbgrid') return { kind: 'router' };
  const setName: unknown = hello.setName;
  if (typeof setName !== 'string') return { kind: 'standalone' };
  return { kind: 'member', setName, isConfigServer: hello.configsvr !== undefined };
}

/**
 * The id of the shard that a member of a replica set serves; null outside of a sharded cluster, and if the user may not
 * ask.
 */
export async function shardServedBy(member: NodeClient, options: CallOptions): Promise<string | null> {
  const state = await member.command('admin', { shardingState: 1 }, options).catch((error: unknown) => {
    if (codeOf(error) === null) throw error;
    return null;
  });
  return state?.enabled === true ? String(state.shardName) : null;
}

/** `hello` came with 4.4.2; earlier servers only support `isMaster`. */
const commandNotFound = 59;

function isUnknownCommand(error: unknown): boolean {
  return (error as { code?: unknown }).code === commandNotFound;
}

/**
 * The release whose behaviour Convoy expects of a cluster. During an upgrade nodes of several releases serve it, and
 * any may become primary. All of them support only what the feature compatibility version allows: it is raised after
 * the last node and lowered before the first. If it cannot be read, the asked node's release counts.
 * @throws ConvoyError `unsupportedServerVersion` below 4.4
 */
export async function readReleases(
  client: NodeClient,
  options: CallOptions,
): Promise<Pick<ClusterClient, 'version' | 'newerBinary'>> {
  const info = await client.command('admin', { buildInfo: 1 }, options);
  const [major = 0, minor = 0, patch = 0] = info.versionArray as number[];
  const binary: Version = [major, minor, patch];
  const shared = (await readFeatureVersion(client, options))?.version ?? null;
  const version = shared !== null && isOlder(shared, binary) ? shared : binary;
  if (isOlder(version, oldestVersion)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `${client.label} is too old: it runs ${version.join('.')}. Convoy needs ` +
        `${oldestVersion.slice(0, 2).join('.')} or later; upgrade it.`,
    );
  }
  return version === binary ? { version } : { version, newerBinary: binary };
}

/** A feature compatibility version as a node stores it. */
interface FeatureVersion {
  /** While it changes, the lower of both. */
  version: Version;
  isChanging: boolean;
}

/**
 * The feature compatibility version; null if the user may not read it. On a sharded cluster the document is the config
 * server's, which is never above those of its shards during an upgrade.
 */
export async function readFeatureVersion(client: NodeClient, options: CallOptions): Promise<FeatureVersion | null> {
  const row = await featureVersionRow(client, options);
  const [major, minor] = String(row?.version).split('.').map(Number);
  if (row === null || major === undefined || minor === undefined || Number.isNaN(major + minor)) return null;
  return {
    version: [major, minor, 0],
    isChanging: row.targetVersion !== undefined || row.previousVersion !== undefined,
  };
}

async function featureVersionRow(client: NodeClient, options: CallOptions): Promise<Document | null> {
  const command = {
    find: 'system.version',
    filter: { _id: 'featureCompatibilityVersion' },
    limit: 1,
    singleBatch: true,
    readConcern: { level: 'majority' },
  };
  try {
    const reply = await client.command('admin', command, options);
    return (reply.cursor as { firstBatch: Document[] }).firstBatch[0] ?? null;
  } catch (error) {
    if (codeOf(error) === unauthorizedCode) return null;
    throw error;
  }
}

/** Whether a version is this release or a later one. */
export function isAtLeast(version: Version, major: number, minor: number): boolean {
  return version[0] > major || (version[0] === major && version[1] >= minor);
}

/** Whether a version belongs to an earlier release than another one; patch levels are compatible with each other. */
export function isOlder(version: Version, other: Version): boolean {
  return !isAtLeast(version, other[0], other[1]);
}

/** A release without its patch level, for example `5.0`. */
export function releaseText([major, minor]: Version): string {
  return `${major}.${minor}`;
}

/** Servers refuse a reconfiguration that changes or adds the id (seen in the source of 8.0). */
export const howToSetIds =
  'To set one, stop all members, start each without --replSet on another port, and give all the same id: ' +
  'db.getSiblingDB("local").system.replset.updateOne({}, {$set: {"settings.replicaSetId": ObjectId("…")}}).';

/** The identity of a sharded cluster, in hexadecimal. */
export async function shardedClusterId(router: NodeClient, options: CallOptions): Promise<string> {
  const reply = await router.command('config', { find: 'version', limit: 1, singleBatch: true }, options);
  const id = hexId(((reply.cursor as Document).firstBatch as Document[])[0]?.clusterId);
  if (id !== null) return id;
  throw new ConvoyError(
    'unsupportedTopology',
    `config.version of ${router.label} has no clusterId. It must be the router of a sharded cluster.`,
  );
}

/**
 * The identity of a replica set, in hexadecimal. @throws ConvoyError `permissionMissing` for users who may not read it
 */
export async function replicaSetId(client: NodeClient, options: CallOptions): Promise<string> {
  const reply = await client.command('admin', { replSetGetConfig: 1 }, options).catch((error: unknown) => {
    if (codeOf(error) !== unauthorizedCode) throw error;
    throw new ConvoyError(
      'permissionMissing',
      `The user of ${client.label} lacks replSetGetConfig on the cluster; grant it, for example by the role ` +
        'clusterMonitor.',
      { cause: error },
    );
  });
  const settings = (reply.config as Document).settings as Document | undefined;
  const id = hexId(settings?.replicaSetId);
  if (id !== null) return id;
  throw new ConvoyError(
    'unsupportedTopology',
    `The configuration of ${client.label} has no settings.replicaSetId, by which Convoy knows a replica set. Servers ` +
      `set it when they initiate one, from 3.2 on. ${howToSetIds}`,
  );
}

function hexId(id: unknown): string | null {
  return id instanceof ObjectId ? id.toHexString() : null;
}

/** The shards of a cluster in the router's order. */
export async function listShards(router: NodeClient, options: CallOptions): Promise<ShardAddress[]> {
  const reply = await router.command('admin', { listShards: 1 }, options);
  return (reply.shards as { _id: string; host: string }[]).map(({ _id, host }) => {
    const [setName = '', members = ''] = host.split('/', 2);
    return { id: _id, setName, hosts: members.split(',') };
  });
}

/** The release that the nodes run, if any has reported it. */
export function binaryVersion({ newerBinary, version }: Pick<ClusterClient, 'version' | 'newerBinary'>): Version {
  return newerBinary ?? version;
}

/** How long a node may take to report its members. */
const report_ms = 2_000;

/**
 * The members of a cluster's sets that do not answer, `host:port`, of a sharded cluster with their set: a replica set's
 * as its primary sees them, a sharded cluster's as its router does (`connPoolStats`). Empty when nobody says.
 */
export async function membersAway({ kind, router }: ClusterClient, options: CallOptions): Promise<string[]> {
  const limited = { ...options, maxTime_ms: report_ms };
  try {
    return kind === 'replicaSet'
      ? awayFromPrimary(await router.command('admin', { replSetGetStatus: 1 }, limited))
      : awayFromRouter(await router.command('admin', { connPoolStats: 1 }, limited));
  } catch {
    // The user may not ask (`clusterMonitor` may), or the node itself does not answer: names only add to a warning.
    return [];
  }
}

/** A member as a router reports it. */
interface RouterMember {
  addr: string;
  ok: boolean;
  hidden: boolean;
}

function awayFromPrimary({ members = [] }: Document): string[] {
  return (members as { name: string; health: number }[]).filter(({ health }) => health === 0).map(({ name }) => name);
}

/** A router calls arbiters hidden; it does not know hidden members. */
function awayFromRouter({ replicaSets = {} }: Document): string[] {
  const sets = Object.entries(replicaSets as Record<string, { hosts?: RouterMember[] }>);
  return sets.flatMap(([set, { hosts = [] }]) =>
    hosts.filter(({ ok, hidden }) => !ok && !hidden).map(({ addr }) => `${addr} of ${set}`),
  );
}

/**
 * Identifies the election of the replica set's present primary. One member is primary in one term, and has neither
 * restarted nor rolled back anything since: both take another election.
 * @returns `electionId` in hexadecimal; null while the asked member is no primary
 */
export async function primaryTerm(client: NodeClient, options: CallOptions): Promise<string | null> {
  const { electionId } = await client.command('admin', { hello: 1 }, options);
  return electionId instanceof ObjectId ? electionId.toHexString() : null;
}
