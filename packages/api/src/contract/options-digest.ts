import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import { normaliseStartRequest } from './normalise-start-request.js';
import type { StartRequest } from './start-request.js';

/** Characters of one option's value that a difference shows; a filter can be long. */
const VALUE_CHARACTERS_MAX = 200;

/** The options in the order in which differences are named. */
const optionNames = [
  'source',
  'destination',
  'buildIndexes',
  'enableUserWriteBlocking',
  'includeNamespaces',
  'excludeNamespaces',
  'reversible',
  'sharding',
  'verification',
] as const satisfies readonly (keyof StartRequest)[];

/**
 * SHA-256 (hexadecimal) of the options in normal form: equal for bodies that mean the same, with defaults written
 * out or not, and whatever the order of fields, selectors, collections and sharding entries.
 */
export function optionsDigest(request: StartRequest): string {
  return createHash('sha256')
    .update(canonicalJson(normaliseStartRequest(request)))
    .digest('hex');
}

/**
 * Names every option in which two requests differ, with both values, for example
 * `reversible: true here, false there`. Empty when `optionsDigest` is the same.
 * @param here the request at hand
 * @param there the request it is compared with
 */
export function optionsDifference(here: StartRequest, there: StartRequest): string[] {
  const [ours, theirs] = [normaliseStartRequest(here), normaliseStartRequest(there)];
  return optionNames
    .filter((name) => valueText(ours[name]) !== valueText(theirs[name]))
    .map((name) => `${name}: ${shortened(valueText(ours[name]))} here, ${shortened(valueText(theirs[name]))} there`);
}

function valueText(value: unknown): string {
  return value === undefined ? 'not set' : canonicalJson(value);
}

function shortened(text: string): string {
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
}
