import { type ServerVersion, defaultVersion } from './server-version.js';
import { unsimulated } from './unsimulated.js';

/** The parts of the query and aggregation languages whose names this file lists. */
export type LanguagePart = 'expression' | 'accumulator' | 'stage' | 'query' | 'condition' | 'variable' | 'option';

/** First release that has a name. Releases between the simulated ones count as the next. */
type Since = readonly [major: number, minor: number];

const always: Since = [4, 4];

/**
 * Names younger than the oldest release, and names of any release that are not simulated (manual: each operator's page;
 * verified on 5.0.7). There is no younger operator of updates.
 */
export const languageNames: Readonly<Record<LanguagePart, ReadonlyMap<string, Since>>> = {
  expression: since([
    [
      always,
      [
        ...['$_internalJsEmit', '$function', '$meta', '$setIntersection', '$setUnion', '$toHashedIndexKey'],
        ...['$acos', '$acosh', '$asin', '$asinh', '$atan', '$atan2', '$atanh', '$cos', '$cosh', '$sin', '$sinh'],
        ...['$tan', '$tanh', '$degreesToRadians', '$radiansToDegrees', '$ln', '$log', '$log10', '$rand'],
        ...['$binarySize', '$stdDevSamp', '$substr'],
      ],
    ],
    [
      [5, 0],
      ['$dateAdd', '$dateDiff', '$dateSubtract', '$dateTrunc', '$getField', '$setField', '$unsetField'],
    ],
    [
      [5, 1],
      ['$tsIncrement', '$tsSecond'],
    ],
    [
      [5, 2],
      ['$firstN', '$lastN', '$maxN', '$minN', '$sortArray'],
    ],
    [
      [6, 3],
      ['$bitAnd', '$bitNot', '$bitOr', '$bitXor'],
    ],
    [
      [7, 0],
      ['$median', '$percentile'],
    ],
    [[8, 0], ['$toUUID']],
  ]),
  accumulator: since([
    [always, ['$accumulator', '$stdDevSamp']],
    [[5, 0], ['$count']],
    [
      [5, 2],
      ['$bottom', '$bottomN', '$firstN', '$lastN', '$maxN', '$minN', '$top', '$topN'],
    ],
    [
      [7, 0],
      ['$median', '$percentile'],
    ],
  ]),
  stage: since([
    [
      always,
      ['$bucketAuto', '$geoNear', '$listLocalSessions', '$listSessions', '$merge', '$planCacheStats', '$sortByCount'],
    ],
    [
      [5, 0],
      ['$_internalUnpackBucket', '$setWindowFields'],
    ],
    [
      [5, 1],
      ['$densify', '$documents'],
    ],
    [[5, 3], ['$fill']],
    [
      [6, 0],
      ['$changeStreamSplitLargeEvent', '$listCatalog', '$queryStats', '$shardedDataDistribution'],
    ],
    [
      [7, 0],
      ['$listSampledQueries', '$listSearchIndexes'],
    ],
    [
      [8, 0],
      ['$querySettings', '$search', '$searchMeta', '$vectorSearch'],
    ],
  ]),
  query: since([[always, ['$alwaysFalse', '$alwaysTrue', '$sampleRate', '$text', '$where']]]),
  condition: since([[always, ['$geoIntersects', '$geoNear', '$geoWithin', '$near', '$nearSphere', '$within']]]),
  variable: since([
    [always, ['CLUSTER_TIME', 'IS_MR', 'JS_SCOPE', 'NOW', 'SEARCH_META']],
    [[7, 0], ['USER_ROLES']],
  ]),
  option: since([
    [
      [6, 0],
      ['$lookup without a collection', '$unionWith without a collection'],
    ],
    [[7, 0], ['$out.timeseries']],
    [
      [8, 0],
      ['$convert.format', '$convert of binary data'],
    ],
  ]),
};

function since(releases: readonly (readonly [Since, readonly string[]])[]): ReadonlyMap<string, Since> {
  return new Map(releases.flatMap(([release, names]) => names.map((name): [string, Since] => [name, release])));
}

/** Whether a release has a name. @param isMade whether something carries it out here */
export function hasName(
  version: ServerVersion = defaultVersion,
  part: LanguagePart,
  name: string,
  isMade: boolean,
): boolean {
  const from = languageNames[part].get(name);
  return from === undefined ? isMade : version.atLeast(...from);
}

/**
 * What stands behind a name in a release.
 * @param made what carries it out here, if anything does
 * @returns undefined for a name that the release has never heard of
 * @throws CommandError 115 for one that the release has and that is not carried out here
 */
export function namedIn<T>(
  version: ServerVersion = defaultVersion,
  part: LanguagePart,
  name: string,
  made: T | undefined,
): T | undefined {
  if (!hasName(version, part, name, made !== undefined)) return undefined;
  if (made === undefined) throw unsimulated(name);
  return made;
}
