import { typeName } from '../bson/type-of.js';
import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { isTrue } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import { unsimulated } from '../node/unsimulated.js';
import type { NodeIdentity } from './node-identity.js';

const documentationOf80 = 'https://docs.mongodb.com/master/release-notes/7.0-compatibility/#feature-compatibility';
const documentation = 'https://docs.mongodb.com/master/release-notes/4.4-compatibility/#feature-compatibility';

/** A version between 4.4 and 5.0, which only development releases had. */
const betweenSeries = '4.9';

/**
 * `setFeatureCompatibilityVersion`: to that of the release, or back to that of the release before it.
 * @throws CommandError 20 while user writes are blocked, 7369100 without `confirm` since 7.0, and as `wantedSeries`
 */
export async function setFeatureCompatibilityVersion(identity: NodeIdentity, request: CommandRequest): Promise<Doc> {
  const { version, deployment } = identity;
  const wanted = wantedSeries(identity, request);
  const raising = wanted > deployment.featureCompatibilityVersion;
  if (version.atLeast(7, 0) && !isTrue(request.body.get('confirm'))) throw unconfirmed(wanted, raising);
  if (wanted !== version.series && deployment.writeBlock.enabled && !isBlockingKnown(wanted)) {
    throw new CommandError(20, 'IllegalOperation', 'Cannot downgrade while user write blocking is enabled.');
  }
  await deployment.setFeatureCompatibilityVersion(wanted);
  return new Map();
}

/**
 * The version that `setFeatureCompatibilityVersion` names.
 * @throws CommandError 14 or 4926900
 */
export function wantedSeries({ deployment }: NodeIdentity, { name, body }: CommandRequest): string {
  const wanted = body.get(name);
  if (typeof wanted !== 'string') {
    const field = `BSON field '${name}.${name}' is the wrong type '${typeName(wanted)}', expected type 'string'`;
    throw new CommandError(14, 'TypeMismatch', field);
  }
  // The config server passes the command on to the shards, each of which must know the version.
  for (const { binary } of deployment.releases) refuseUnknown(binary, wanted);
  return wanted;
}

function refuseUnknown(version: ServerVersion, wanted: string): void {
  const allowed = [version.previousSeries, version.series];
  if (wanted === betweenSeries && !version.atLeast(6, 0)) throw unsimulated(`feature compatibility version ${wanted}`);
  if (!allowed.includes(wanted)) throw invalidVersion(version, wanted, allowed);
}

function isBlockingKnown(series: string): boolean {
  return series >= '6.0';
}

function invalidVersion(version: ServerVersion, wanted: string, allowed: readonly string[]): CommandError {
  if (version.atLeast(8, 0)) {
    return new CommandError(
      4926900,
      'Location4926900',
      `Invalid feature compatibility version value '${wanted}'; expected '${version.previousSeries}' or '7.3' or ` +
        `'${version.series}'. See ${documentationOf80}.`,
    );
  }
  if (version.atLeast(6, 0)) {
    const list = allowed.map((each) => `'${each}'`).join(', ');
    return new CommandError(
      4926900,
      'Location4926900',
      `Invalid feature compatibility version value '${wanted}'. Expected one of the following versions: '${list}'`,
    );
  }
  return new CommandError(
    4926900,
    'Location4926900',
    // A space and a quote are missing there, too.
    `Invalid value for featureCompatibilityVersiondocument in admin.system.version, found ${wanted}, expected ` +
      `'${version.previousSeries}' or '${betweenSeries}' or '${version.series}. See ${documentation}.`,
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
