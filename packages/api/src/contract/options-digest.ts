import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import { normaliseStartRequest } from './normalise-start-request.js';
import type { StartRequest } from './start-request.js';

/** Maximum characters of an option's value in a difference; a filter can be long. */
const VALUE_CHARACTERS_MAX = 200;

/** The options in the order of a difference: one that is missing does not compile. */
const optionNames = Object.keys({
  source: true,
  destination: true,
  buildIndexes: true,
  indexConflicts: true,
  indexFailures: true,
  enableUserWriteBlocking: true,
  includeNamespaces: true,
  excludeNamespaces: true,
  reversible: true,
  keepBalancer: true,
  copyInNaturalOrder: true,
  detectRandomId: true,
  sharding: true,
  documentFilter: true,
  namespaceRemap: true,
  carry: true,
  verification: true,
} satisfies Record<keyof StartRequest, true>) as (keyof StartRequest)[];

/**
 * SHA-256 (hexadecimal) of the options in normal form. Equal for equal requests: with or without explicit defaults, in
 * any order of fields, selectors, collections and sharding entries.
 */
export function optionsDigest(request: StartRequest): string {
  return createHash('sha256')
    .update(canonicalJson(normaliseStartRequest(request)))
    .digest('hex');
}

/**
 * Names every option that differs between two requests with both values, for example `reversible: true here, false
 * there`. Empty when `optionsDigest` is the same.
 * @param here the request at hand
 * @param there the other request
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
