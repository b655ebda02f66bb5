import { type Command, InvalidArgumentError, Option } from 'commander';
import { carriedKinds } from '@convoy/api/contract/carry';
import { given } from '@convoy/api/contract/given';
import {
  buildIndexesValues,
  indexConflictsValues,
  indexFailuresValues,
  type StartRequestBody,
} from '@convoy/api/contract/start-request';
import { writeBlockingValues } from '@convoy/api/contract/write-blocking';
import { addNamespaceOptions, parseJson } from './namespace-option.js';

/** Options of a start, as given by flags. */
export interface StartOptions extends Partial<
  Omit<
    StartRequestBody,
    'verification' | 'includeNamespaces' | 'excludeNamespaces' | 'namespaceRemap' | 'copyInNaturalOrder'
  >
> {
  optionsFile?: Partial<StartRequestBody>;
  naturalOrder?: StartRequestBody['copyInNaturalOrder'];
  verification: boolean;
  include?: StartRequestBody['includeNamespaces'];
  exclude?: StartRequestBody['excludeNamespaces'];
  remap?: StartRequestBody['namespaceRemap'];
}

/** The usual direction; the service itself has no default. */
const defaultClusters = { source: 'cluster0', destination: 'cluster1' };

/** Adds the flags of a start request to a command. */
export function addStartOptions(command: Command): Command {
  addNamespaceOptions(command);
  return command
    .option('--options-file <file>', 'JSON file with the body of a start; other flags override it', parseJsonFile)
    .option('--source <cluster>', 'name of the source cluster (cluster0)')
    .option('--destination <cluster>', 'name of the destination cluster (cluster1)')
    .addOption(new Option('--build-indexes <when>', 'when indexes are built, and which').choices(buildIndexesValues))
    .addOption(
      new Option('--index-conflicts <choice>', 'an index that differs between shards of the source').choices(
        indexConflictsValues,
      ),
    )
    .addOption(
      new Option('--index-failures <choice>', 'an index that the destination cannot build').choices(
        indexFailuresValues,
      ),
    )
    .addOption(
      new Option(
        '--enable-user-write-blocking [clusters]',
        'block user writes: on the destination until the commit, then on the source',
      )
        .choices(writeBlockingValues)
        .preset('sourceAndDestination'),
    )
    .option('--reversible', 'allow a reverse after the commit')
    .option('--keep-balancer', "leave the source's balancer on, which needs sourceAccess router")
    .option(
      '--natural-order <json>',
      'namespaces to copy in the order of their records, as a JSON array or @file',
      parseJson,
    )
    .option('--detect-random-id', 'copy large collections with random _ids in the order of their records')
    .option(
      '--carry <kinds>',
      `what the commit takes along: ${carriedKinds.join(', ')}; or a JSON array or @file`,
      parseCarry,
    )
    .option('--no-verification', 'do not run the embedded verifier')
    .option('--document-filter <json>', 'queries that choose the documents, as a JSON array or @file', parseJson)
    .option('--sharding <json>', 'sharding document, as JSON or @file', parseJson);
}

/** The request with only the given fields, so that the service's defaults apply to the others. */
export function startBody(options: StartOptions): StartRequestBody {
  return {
    ...defaultClusters,
    ...options.optionsFile,
    ...given({
      source: options.source,
      destination: options.destination,
      buildIndexes: options.buildIndexes,
      indexConflicts: options.indexConflicts,
      indexFailures: options.indexFailures,
      enableUserWriteBlocking: options.enableUserWriteBlocking,
      reversible: options.reversible,
      keepBalancer: options.keepBalancer,
      copyInNaturalOrder: options.naturalOrder ?? undefined,
      detectRandomId: options.detectRandomId,
      includeNamespaces: options.include,
      excludeNamespaces: options.exclude,
      documentFilter: options.documentFilter ?? undefined,
      namespaceRemap: options.remap,
      carry: options.carry,
      sharding: options.sharding ?? undefined,
      verification: options.verification ? undefined : { enabled: false },
    }),
  };
}

/** A list of names for the usual case, JSON for a map of shards; the service checks the names. */
function parseCarry(text: string): StartRequestBody['carry'] {
  const isJson = text.startsWith('[') || text.startsWith('@');
  return (isJson ? parseJson(text) : text.split(',').map((kind) => kind.trim())) as StartRequestBody['carry'];
}

function parseJsonFile(path: string): Partial<StartRequestBody> {
  const value = parseJson(`@${path}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidArgumentError('It must hold one JSON object.');
  return value;
}
