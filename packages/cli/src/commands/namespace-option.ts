import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { StartRequestBody } from '@convoy/api/contract/start-request';

type Selectors = NonNullable<StartRequestBody['includeNamespaces']>;

/** Characters that no database name has. */
const forbiddenInDatabase = /[/\\ "$\0]/;

type Remap = NonNullable<StartRequestBody['namespaceRemap']>;

/** Adds `--include`, `--exclude` and `--remap`, which can be repeated. */
export function addNamespaceOptions(command: Command): Command {
  return command
    .option('--include <namespace>', 'only DATABASE or DATABASE.COLLECTION; repeatable, or JSON, or @file', collect)
    .option('--exclude <namespace>', 'without DATABASE or DATABASE.COLLECTION; repeatable, or JSON, or @file', collect)
    .option('--remap <names>', 'another name on the destination: shop.orders=store.orders or shop=store', collectRemap);
}

/** Adds the selectors of one flag to those of the flags before it. */
export function collect(text: string, before: Selectors = []): Selectors {
  return [...before, ...(/^[[{@]/.test(text) ? parsedSelectors(text) : [namedSelector(text)])];
}

/** Adds the elements of one flag to those of the flags before it. */
export function collectRemap(text: string, before: Remap = []): Remap {
  if (/^[[{@]/.test(text)) {
    const value = parseJson(text) as Remap;
    return [...before, ...(Array.isArray(value) ? value : [value])];
  }
  const sides = text.split('=');
  const [from, to] = sides;
  if (from === undefined || to === undefined || sides.length !== 2)
    throw new InvalidArgumentError('It must be SOURCE=DESTINATION, for example shop.orders=store.orders, or JSON.');
  return [...before, { from: named(from), to: named(to) }];
}

/** The service checks the fields of each selector. */
function parsedSelectors(text: string): Selectors {
  const value = parseJson(text) as Selectors;
  return Array.isArray(value) ? value : [value];
}

function namedSelector(text: string): Selectors[number] {
  const { database, collection } = named(text);
  return collection === undefined ? { database } : { database, collections: [collection] };
}

/** Databases have no dots in their names, collections may: the first dot divides. */
function named(text: string): Remap[number]['from'] {
  const dot = text.indexOf('.');
  const database = dot === -1 ? text : text.slice(0, dot);
  if (database === '' || forbiddenInDatabase.test(database))
    throw new InvalidArgumentError('It must be DATABASE or DATABASE.COLLECTION, for example shop.orders, or JSON.');
  if (dot === -1) return { database };
  const collection = text.slice(dot + 1);
  if (collection === '' || collection === '*')
    throw new InvalidArgumentError(`Write ${database} to select the whole database.`);
  return { database, collection };
}

/** Parses JSON from a flag: the text itself or @file. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
