import { Int32 } from 'bson';
import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from './command.js';
import { unknownField } from './unknown-field.js';
import type { NodeRelease } from './node-release.js';
import type { ServerVersion } from './server-version.js';
import { unsimulated } from './unsimulated.js';

/** First release that has something, as `[major, minor]`. Releases between the simulated ones count as the next. */
type Since = readonly [major: number, minor: number];

/** Commands that are younger than the oldest simulated release (manual: release notes and each command's page). */
const commandsSince: ReadonlyMap<string, Since> = new Map<string, Since>([
  ['abortReshardCollection', [5, 0]],
  ['reshardCollection', [5, 0]],
  ['configureCollectionBalancing', [6, 0]],
  ['getClusterParameter', [6, 0]],
  ['setClusterParameter', [6, 0]],
  ['moveRange', [6, 0]],
  ['setUserWriteBlockMode', [6, 0]],
  ['analyzeShardKey', [7, 0]],
  ['mergeAllChunksOnShard', [7, 0]],
  ['abortMoveCollection', [8, 0]],
  ['abortUnshardCollection', [8, 0]],
  ['bulkWrite', [8, 0]],
  ['moveCollection', [8, 0]],
  ['transitionFromDedicatedConfigServer', [8, 0]],
  ['transitionToDedicatedConfigServer', [8, 0]],
  ['unshardCollection', [8, 0]],
]);

/** Fields of commands that are younger than the commands themselves, by the command's name. */
const fieldsSince: ReadonlyMap<string, ReadonlyMap<string, Since>> = new Map<string, ReadonlyMap<string, Since>>([
  [
    'insert',
    new Map<string, Since>([
      ['collectionUUID', [6, 0]],
      ['bypassEmptyTsReplacement', [7, 0]],
    ]),
  ],
  [
    'update',
    new Map<string, Since>([
      ['collectionUUID', [6, 0]],
      ['let', [5, 0]],
      ['bypassEmptyTsReplacement', [7, 0]],
    ]),
  ],
  [
    'delete',
    new Map<string, Since>([
      ['collectionUUID', [6, 0]],
      ['let', [5, 0]],
    ]),
  ],
  [
    'findAndModify',
    new Map<string, Since>([
      ['let', [5, 0]],
      ['bypassEmptyTsReplacement', [7, 0]],
    ]),
  ],
  [
    'find',
    new Map<string, Since>([
      ['let', [5, 0]],
      ['collectionUUID', [6, 0]],
    ]),
  ],
  ['aggregate', new Map<string, Since>([['let', [5, 0]]])],
  ['drop', new Map<string, Since>([['collectionUUID', [6, 0]]])],
  ['createIndexes', new Map<string, Since>([['collectionUUID', [6, 0]]])],
  ['dropIndexes', new Map<string, Since>([['collectionUUID', [6, 0]]])],
  ['renameCollection', new Map<string, Since>([['collectionUUID', [6, 0]]])],
  ['setUserWriteBlockMode', new Map<string, Since>([['reason', [8, 0]]])],
  ['setFeatureCompatibilityVersion', new Map<string, Since>([['confirm', [7, 0]]])],
  [
    'reshardCollection',
    new Map<string, Since>([
      ['forceRedistribution', [8, 0]],
      ['shardDistribution', [8, 0]],
    ]),
  ],
  ['configureCollectionBalancing', new Map<string, Since>([['enableAutoMerger', [7, 0]]])],
]);

/**
 * True when servers with the features of this release have the command. Commands without a rule exist in every release.
 */
export function hasCommand(version: ServerVersion, name: string): boolean {
  const since = commandsSince.get(name);
  return since === undefined || version.atLeast(...since);
}

/** Commands that enable new features cannot depend on them. */
const raisesFeatures: ReadonlySet<string> = new Set(['setFeatureCompatibilityVersion']);

/** Parameters of the stable API, which came with 5.0 (manual: "Stable API"). */
const apiFields = ['apiVersion', 'apiStrict', 'apiDeprecationErrors'];

/**
 * Refuses fields of later releases, and the parameters of the stable API.
 * @throws CommandError 40415 for the first such field, 115 for such a parameter
 */
export function refuseForeignFields(release: Pick<NodeRelease, 'binary' | 'features'>, request: CommandRequest): void {
  const { body } = request;
  const fields = fieldsSince.get(request.name);
  const version = raisesFeatures.has(request.name) ? release.binary : release.features;
  if (fields !== undefined) {
    for (const [name, since] of fields)
      if (body.has(name) && !version.atLeast(...since)) throw unknownTo(version, request.name, name);
  }
  const parameter = apiFields.find((name) => body.has(name));
  if (parameter !== undefined) throw unsimulated(parameter);
}

/** Commands whose unknown fields 4.4 refuses in other words. */
const parsedByHand: ReadonlySet<string> = new Set(['aggregate', 'find', 'findAndModify']);

function unknownTo(version: ServerVersion, command: string, field: string): CommandError {
  if (version.atLeast(5, 0) || !parsedByHand.has(command)) return unknownField(`${command}.${field}`);
  return new CommandError(9, 'FailedToParse', `unrecognized field '${field}'`);
}

/** Codes with names of their own, and the releases that added these (server source: error_codes.yml). */
const codesNamedSince: ReadonlyMap<number, { readonly name: string; readonly since: Since }> = new Map([
  [40414, { name: 'IDLFailedToParse', since: [7, 0] }],
  [40415, { name: 'IDLUnknownField', since: [7, 0] }],
]);

/** Puts this release's names of codes into a failed reply. */
export function nameCodes(version: ServerVersion, reply: Doc): void {
  if (version.atLeast(8, 0)) {
    dropCodeNames(reply);
    if (reply.get('codeName') === 'Location51173')
      reply.set('code', new Int32(291)).set('codeName', 'NoQueryExecutionPlans');
  }
  if (!reply.has('codeName')) return;
  for (const [code, { name, since }] of codesNamedSince) {
    if (reply.get('codeName') === `Location${code}` && version.atLeast(...since)) reply.set('codeName', name);
  }
}

/** 8.0.10 does not name the codes of failed statements (5.0.7 does; of the releases between them it is not known). */
function dropCodeNames(reply: Doc): void {
  const errors = reply.get('writeErrors');
  for (const error of Array.isArray(errors) ? errors : []) if (error instanceof Map) error.delete('codeName');
}
