import { readFileSync } from 'node:fs';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { InvalidArgumentError, Option, type Command } from 'commander';

/** The options of a start, as flags give them. */
export interface StartOptions {
  source: string;
  destination: string;
  buildIndexes?: 'beforeDataCopy' | 'never';
  enableUserWriteBlocking?: boolean;
  reversible?: boolean;
  verification: boolean;
  include?: StartRequestBody['includeNamespaces'];
  exclude?: StartRequestBody['excludeNamespaces'];
  sharding?: StartRequestBody['sharding'];
}

/** Adds the flags of a start request to a command. */
export function addStartOptions(command: Command): Command {
  return command
    .option('--source <cluster>', 'name of the source cluster', 'cluster0')
    .option('--destination <cluster>', 'name of the destination cluster', 'cluster1')
    .addOption(new Option('--build-indexes <when>', 'when indexes are built').choices(['beforeDataCopy', 'never']))
    .option('--enable-user-write-blocking', 'block writes on the destination until the commit, and on the source from then on')
    .option('--reversible', 'allow a reverse after the commit')
    .option('--no-verification', 'do without the embedded verifier')
    .option('--include <json>', 'includeNamespaces, as JSON or @file', parseJson)
    .option('--exclude <json>', 'excludeNamespaces, as JSON or @file', parseJson)
    .option('--sharding <json>', 'sharding document, as JSON or @file', parseJson);
}

/** The request with only those fields that were asked for, so that the service's defaults hold for the others. */
export function startBody(options: StartOptions): StartRequestBody {
  const { source, destination, buildIndexes, enableUserWriteBlocking, reversible, include, exclude, sharding } = options;
  return {
    source,
    destination,
    ...(buildIndexes && { buildIndexes }),
    ...(enableUserWriteBlocking && { enableUserWriteBlocking }),
    ...(reversible && { reversible }),
    ...(include && { includeNamespaces: include }),
    ...(exclude && { excludeNamespaces: exclude }),
    ...(sharding && { sharding }),
    ...(!options.verification && { verification: { enabled: false } }),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
