import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { InvalidArgumentError, type Command } from 'commander';
import { parseJson } from './json-option.js';

type Selectors = NonNullable<StartRequestBody['includeNamespaces']>;

/** Characters that no database name has. */
const forbiddenInDatabase = /[/\\ "$\0]/;

/** Adds `--include` and `--exclude`, which can be repeated. */
export function addNamespaceOptions(command: Command): Command {
  return command
    .option('--include <namespace>', 'only DATABASE or DATABASE.COLLECTION; repeatable, or JSON, or @file', collect)
    .option('--exclude <namespace>', 'without DATABASE or DATABASE.COLLECTION; repeatable, or JSON, or @file', collect);
}

/** Adds the selectors of one flag to those of the flags before it. */
export function collect(text: string, before: Selectors = []): Selectors {
  return [...before, ...(/^[[{@]/.test(text) ? parsedSelectors(text) : [namedSelector(text)])];
}

/** The service checks the fields of each selector. */
function parsedSelectors(text: string): Selectors {
  const value = parseJson(text) as Selectors;
  return Array.isArray(value) ? value : [value];
}

/** Databases have no dots in their names, collections may: the first dot divides. */
function namedSelector(text: string): Selectors[number] {
  const dot = text.indexOf('.');
  const database = dot === -1 ? text : text.slice(0, dot);
  if (database === '' || forbiddenInDatabase.test(database))
    throw new InvalidArgumentError('It must be DATABASE or DATABASE.COLLECTION, for example shop.orders, or JSON.');
  if (dot === -1) return { database };
  const collection = text.slice(dot + 1);
  if (collection === '' || collection === '*')
    throw new InvalidArgumentError(`Write ${database} to select the whole database.`);
  return { database, collections: [collection] };
}
