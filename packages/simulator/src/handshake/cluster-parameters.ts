import { Long } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, docOf, numberOf } from '../node/doc-fields.js';
import type { NodeIdentity } from './node-identity.js';

/** Lifetime of pre-images (manual, `changeStreamOptions`). */
const changeStreamOptions = 'changeStreamOptions';

/**
 * `setClusterParameter`, since 6.0: `changeStreamOptions.preAndPostImages.expireAfterSeconds`, seconds or `off`.
 * @throws CommandError 20 on members of a sharded cluster, 4 for another parameter, 2 for a wrong value
 */
export function setClusterParameter(identity: NodeIdentity, request: CommandRequest): Doc {
  if (identity.kind === 'shard' || identity.kind === 'config') {
    throw new CommandError(20, 'IllegalOperation', 'setClusterParameter can only run on mongos in sharded clusters');
  }
  const wanted = docOf(request.body.get(request.name));
  const [name] = wanted?.keys() ?? [];
  if (wanted === undefined || name !== changeStreamOptions) throw unknownParameter(name ?? '');
  const images = docOf(docOf(wanted.get(name))?.get('preAndPostImages'));
  identity.deployment.preImageExpirySeconds = expirySeconds(images?.get('expireAfterSeconds') ?? 'off');
  return new Map();
}

/**
 * `getClusterParameter`, since 6.0: one by its name, a list, or `*` for all.
 * @throws CommandError 4 for another parameter
 */
export function getClusterParameter(identity: NodeIdentity, request: CommandRequest): Doc {
  const wanted = request.body.get(request.name);
  const names = Array.isArray(wanted) ? wanted : [wanted];
  for (const name of names)
    if (name !== '*' && name !== changeStreamOptions) throw unknownParameter(typeof name === 'string' ? name : '');
  const seconds = identity.deployment.preImageExpirySeconds;
  const expiry: Value = seconds === undefined ? 'off' : Long.fromNumber(seconds);
  const parameter = doc(['_id', changeStreamOptions], ['preAndPostImages', doc(['expireAfterSeconds', expiry])]);
  return doc(['clusterParameters', [parameter]]);
}

function expirySeconds(value: Value): number | undefined {
  if (value === 'off') return undefined;
  const seconds = numberOf(value);
  if (seconds !== undefined && seconds > 0) return seconds;
  const message =
    typeof value === 'string'
      ? "Non-numeric value of 'expireAfterSeconds' should be 'off'"
      : "Numeric value of 'expireAfterSeconds' should be positive";
  throw new CommandError(2, 'BadValue', message);
}

function unknownParameter(name: string): CommandError {
  return new CommandError(4, 'NoSuchKey', `Unknown server parameter: ${name}`);
}
