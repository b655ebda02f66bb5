import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { isTrue } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import type { NodeIdentity } from './node-identity.js';

const documentation = 'https://docs.mongodb.com/master/release-notes/';

/**
 * `setFeatureCompatibilityVersion`: to that of the release, or back to that of the release before it.
 * @throws CommandError 20 while user writes are blocked, 2 or 4926900 for another version, 7369100 without `confirm`
 * since 7.0
 */
export async function setFeatureCompatibilityVersion(identity: NodeIdentity, request: CommandRequest): Promise<Doc> {
  const { version, deployment } = identity;
  const wanted = request.body.get(request.name);
  if (typeof wanted !== 'string')
    throw new CommandError(2, 'BadValue', `Command argument must be of type String, but was of type ${typeof wanted}`);
  // The config server passes the command on to the shards, each of which must know the version.
  for (const { binary } of deployment.releases) refuseUnknown(binary, wanted);
  const raising = wanted > deployment.featureCompatibilityVersion;
  if (version.atLeast(7, 0) && !isTrue(request.body.get('confirm'))) throw unconfirmed(wanted, raising);
  if (wanted !== version.series && deployment.writeBlock.enabled && !isBlockingKnown(wanted)) {
    throw new CommandError(20, 'IllegalOperation', 'Cannot downgrade while user write blocking is enabled.');
  }
  await deployment.setFeatureCompatibilityVersion(wanted);
  return new Map();
}

function refuseUnknown(version: ServerVersion, wanted: string): void {
  const allowed = [version.previousSeries, version.series];
  if (!allowed.includes(wanted)) throw invalidVersion(version, wanted, allowed);
}

function isBlockingKnown(series: string): boolean {
  return series >= '6.0';
}

function invalidVersion(version: ServerVersion, wanted: string, allowed: readonly string[]): CommandError {
  if (version.atLeast(6, 0)) {
    const list = allowed.map((each) => `'${each}'`).join(', ');
    return new CommandError(
      4926900,
      'Location4926900',
      `Invalid feature compatibility version value '${wanted}'. Expected one of the following versions: '${list}'`,
    );
  }
  const list = allowed.map((each) => `'${each}'`).join(' or ');
  return new CommandError(
    4926900,
    'Location4926900',
    `Invalid feature compatibility version value, expected ${list}. See ${documentation}.`,
  );
}

function unconfirmed(wanted: string, raising: boolean): CommandError {
  const again = "Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV";
  const message = raising
    ? `Once you have upgraded to ${wanted}, you will not be able to downgrade FCV and binary version without ` +
      `support assistance. ${again} upgrade.`
    : 'Once you have downgraded the FCV, if you choose to downgrade the binary version, it will require support ' +
      `assistance. ${again} downgrade.`;
  return new CommandError(7369100, 'Location7369100', message);
}
