import { type DocumentFilter, filterText } from '@convoy/api/contract/document-filter';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON, type Document } from 'mongodb';

/** Operators whose result depends on the document alone, and on the collation of the collection. */
const OPERATORS: ReadonlySet<string> = new Set([
  ...['$and', '$or', '$nor', '$not', '$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$comment'],
  ...['$exists', '$type', '$mod', '$regex', '$options', '$all', '$elemMatch', '$size', '$jsonSchema'],
  ...['$bitsAllClear', '$bitsAllSet', '$bitsAnyClear', '$bitsAnySet'],
  ...['$geoIntersects', '$geoWithin', '$geometry', '$box', '$center', '$centerSphere', '$polygon'],
]);

/** Far below the server's limit of 200 levels: the query becomes part of others. */
const LEVELS_MAX = 100;

/** JavaScript moves such names to the front of an object. */
const INTEGER_NAME = /^(?:0|[1-9]\d*)$/;

/**
 * Parses the query of one collection. The same document must match at any time and on any server: a document is
 * compared with it when it is copied, whenever it changes, and when it is verified.
 * @throws ConvoyError `documentFilterInvalid`, naming the collection and what is wrong
 */
export function parseDocumentFilter(given: DocumentFilter): Document {
  const refuse = (what: string): never => {
    throw new ConvoyError(
      'documentFilterInvalid',
      `The documentFilter of ${given.database}.${given.collection} ${what}.`,
    );
  };
  let filter: unknown;
  try {
    filter = BSON.EJSON.parse(filterText(given));
  } catch {
    return refuse('is not Extended JSON. Write it as find takes it');
  }
  if (!isPlain(filter)) return refuse('is not a query. Write an object, such as {"region": "EU"}');
  checkNames(filter, 1, refuse);
  return filter;
}

/** A capped collection keeps the order of its documents, so none can join or leave it later. */
export function cappedWithFilter(namespace: string): ConvoyError {
  return new ConvoyError(
    'documentFilterInvalid',
    `${namespace} is capped: its documents cannot be filtered. Migrate it as a whole, or exclude it.`,
  );
}

function checkNames(value: unknown, level: number, refuse: (what: string) => never): void {
  if (level > LEVELS_MAX) refuse(`has more than ${LEVELS_MAX} levels`);
  if (Array.isArray(value)) for (const element of value) checkNames(element, level + 1, refuse);
  if (!isPlain(value)) return;
  const names = Object.keys(value);
  for (const name of names) {
    if (name.startsWith('$') && !OPERATORS.has(name))
      refuse(`has ${name.slice(0, 40)}, whose result depends on more than the document. Use comparisons of fields`);
    if (names.length > 1 && INTEGER_NAME.test(name))
      refuse(`names the field ${name} beside others, whose order would be lost. Divide it with $and`);
    if (name !== '$jsonSchema') checkNames(value[name], level + 1, refuse);
  }
}

/** Objects of JavaScript, no BSON values. */
function isPlain(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
