import { type Asked, askedBy, type Json, recordedOutcome, type Step } from './corpus-file.js';
import { asRecorded } from './driver-error.js';
import { type HostRoles, recordedRoles } from './host-roles.js';
import { isLeaf, maskReply } from './mask-reply.js';
import { elementPath, fieldPath, isAbout } from './pattern.js';
import { batches, unorderedFields, unorderedLists } from './unordered-lists.js';

/**
 * What differs between a recorded outcome and an answered one: the path, and both sides there; `undefined` where a side
 * has nothing.
 */
export interface Difference {
  readonly path: string;
  readonly recorded: Json | undefined;
  readonly answered: Json | undefined;
}

/**
 * Compares the recorded outcome of a step with a reply as it came over the wire.
 * Equal means: the same fields in the same order with values of the same types, but for what a declared pattern covers.
 * @param roles the nodes of the cluster that answered
 */
export function compareWithReply(step: Step, reply: Json, roles: HostRoles): Difference[] {
  return compareOutcomes(step, recordedOutcome(step), recordedRoles, asRecorded(reply, step), roles);
}

/** Compares two outcomes of one step, both in the form in which the corpus notes them. */
export function compareOutcomes(
  step: Step,
  recorded: Json,
  recordedAt: HostRoles,
  answered: Json,
  answeredAt: HostRoles,
): Difference[] {
  const differences: Difference[] = [];
  collect(comparable(recorded, step, recordedAt), comparable(answered, step, answeredAt), '', differences);
  return differences;
}

function comparable(outcome: Json, step: Step, roles: HostRoles): Json {
  const asked = askedBy(step);
  return ordered(maskReply(outcome, asked, roles), '', asked, step.unordered ?? false);
}

/** Lists and documents whose order the server leaves open come in one order. */
function ordered(value: Json, path: string, asked: Asked, isOpen: boolean): Json {
  if (isLeaf(value) || value === null || typeof value !== 'object') return value;
  if (!Array.isArray(value)) {
    const fields = Object.entries(value).map(([name, inner]): [string, Json] => [
      name,
      ordered(inner, fieldPath(path, name), asked, isOpen),
    ]);
    return Object.fromEntries(unorderedFields.includes(path) ? fields.sort(([a], [b]) => (a < b ? -1 : 1)) : fields);
  }
  const elements = value.map((each) => ordered(each, elementPath(path), asked, isOpen));
  const isSet =
    (isOpen && batches.includes(path)) || unorderedLists.some((list) => list.path === path && isAbout(list, asked));
  return isSet ? elements.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : elements;
}

function collect(recorded: Json | undefined, answered: Json | undefined, path: string, into: Difference[]): void {
  if (JSON.stringify(recorded) === JSON.stringify(answered)) return;
  const both = innerOf(recorded, answered);
  if (both === undefined) {
    into.push({ path, recorded, answered });
    return;
  }
  const found = into.length;
  const [left, right] = both;
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    collect(left[name], right[name], Array.isArray(recorded) ? `${path}[${name}]` : fieldPath(path, name), into);
  }
  if (into.length === found)
    into.push({ path: `${path} (order of fields)`, recorded: Object.keys(left), answered: Object.keys(right) });
}

function innerOf(
  recorded: Json | undefined,
  answered: Json | undefined,
): [Record<string, Json>, Record<string, Json>] | undefined {
  if (recorded === undefined || answered === undefined || Array.isArray(recorded) !== Array.isArray(answered))
    return undefined;
  if (typeof recorded !== 'object' || typeof answered !== 'object' || recorded === null || answered === null)
    return undefined;
  if (isLeaf(recorded) || isLeaf(answered)) return undefined;
  return [recorded as Record<string, Json>, answered as Record<string, Json>];
}
