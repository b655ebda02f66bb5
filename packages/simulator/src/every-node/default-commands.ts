import { Int32, Timestamp } from 'bson';
import { DateTime, type Doc, type Value } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, docOf, numberOf, textOrEmpty } from '../node/doc-fields.js';
import { unsimulated } from '../node/unsimulated.js';
import type { NodeIdentity } from './node-identity.js';

/** Read concerns that may be a default (server source: `isSuitableReadConcernLevel`). */
const suitableLevels: ReadonlySet<Value> = new Set(['local', 'available', 'majority']);

const maxTimeParameter = 'defaultMaxTimeMS';
/** The release of `defaultMaxTimeMS`. */
const maxTimeRelease = 8;

/** `setDefaultRWConcern`. @throws CommandError 2, or 51301 on a shard */
export function setDefaultConcerns(identity: NodeIdentity, { name, body }: CommandRequest): Doc {
  refuseOnShard(identity, name);
  const { defaults } = identity.deployment;
  const [read, write] = ['defaultReadConcern', 'defaultWriteConcern'].map((field) => docOf(body.get(field)));
  if (read === undefined && write === undefined) {
    throw badValue('At least one of the "defaultReadConcern" or "defaultWriteConcern" fields must be present');
  }
  if (read !== undefined && read.size > 0 && !suitableLevels.has(read.get('level') ?? null))
    throw badValue(`level: '${textOrEmpty(read.get('level'))}' is not suitable for the default read concern`);
  if (write !== undefined && write.size > 0 && !write.has('w'))
    throw badValue(`Default write concern must have 'w' field.`);
  if (read !== undefined) defaults.readConcern = read.size === 0 ? undefined : read;
  if (write !== undefined && write.size > 0) defaults.writeConcern = write;
  return shownDefaults(identity);
}

/** `getDefaultRWConcern`. @throws CommandError 51301 on a shard */
export function defaultConcerns(identity: NodeIdentity, { name }: CommandRequest): Doc {
  refuseOnShard(identity, name);
  return shownDefaults(identity);
}

/** The read and write concern of commands that name none, as `serverStatus` of a router shows them, too. */
export function shownDefaults({ deployment: { defaults }, startedMs }: NodeIdentity): Doc {
  const { readConcern, writeConcern } = defaults;
  const source = (concern: Doc | undefined) => (concern === undefined ? 'implicit' : 'global');
  return doc(
    ['defaultReadConcern', readConcern ?? doc(['level', 'local'])],
    ['defaultWriteConcern', writeConcern ?? doc(['w', 'majority'], ['wtimeout', new Int32(0)])],
    ['defaultWriteConcernSource', source(writeConcern)],
    ['defaultReadConcernSource', source(readConcern)],
    ['localUpdateWallClockTime', new DateTime(BigInt(startedMs))],
  );
}

/** `setClusterParameter`, of `defaultMaxTimeMS` alone. @throws CommandError 115 for all other parameters */
export function setClusterParameter(identity: NodeIdentity, { name, body }: CommandRequest): Doc {
  if (identity.kind === 'shard' || identity.kind === 'config') throw unsimulated(`${name} on a shard`);
  const value = docOf(docOf(body.get(name))?.get(maxTimeParameter));
  if (value === undefined || !hasMaxTime(identity)) throw unsimulated(`${name} of another parameter`);
  const milliseconds = numberOf(value.get('readOperations'));
  if (milliseconds === undefined || milliseconds < 0) throw badValue('readOperations must be a number of at least 0');
  identity.deployment.defaults.readOperationsMs = milliseconds;
  identity.deployment.defaults.readOperationsSince = Math.floor(Date.now() / 1000);
  return new Map();
}

/** `getClusterParameter`, of `defaultMaxTimeMS` alone. @throws CommandError 72 for all other parameters */
export function clusterParameter(identity: NodeIdentity, { name, body }: CommandRequest): Doc {
  const asked = body.get(name);
  const names = Array.isArray(asked) ? asked : [asked ?? null];
  for (const one of names) {
    if (one === '*' || (one === maxTimeParameter && hasMaxTime(identity))) continue;
    throw new CommandError(72, 'InvalidOptions', `Unknown server parameter: ${textOrEmpty(one)}`);
  }
  const { readOperationsMs, readOperationsSince } = identity.deployment.defaults;
  const shown = doc(
    ['_id', maxTimeParameter],
    ['clusterParameterTime', new Timestamp({ t: readOperationsSince, i: 0 })],
    ['readOperations', new Int32(readOperationsMs)],
  );
  return doc(['clusterParameters', hasMaxTime(identity) ? [shown] : []]);
}

function hasMaxTime({ release }: NodeIdentity): boolean {
  return release.features.atLeast(maxTimeRelease);
}

function refuseOnShard({ kind }: NodeIdentity, name: string): void {
  if (kind === 'shard') throw new CommandError(51301, 'Location51301', `'${name}' is not supported on shard nodes.`);
}

function badValue(message: string): CommandError {
  return new CommandError(2, 'BadValue', message);
}
