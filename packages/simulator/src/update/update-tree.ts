import { compareStrings } from '../bson/compare.js';
import { valueText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { splitPath, valueAtPath } from '../query/document-path.js';
import { badValue, failedToParse } from '../query/query-error.js';
import { typeName } from '../bson/type-of.js';
import { conflict, dollarPrefixed } from './update-error.js';

/** One operator on one path. */
export interface Modification {
  readonly operator: string;
  readonly operand: Value;
}

/** The paths an update changes, as a tree; a node either changes its value or has children. */
export interface UpdateNode {
  modification?: Modification;
  readonly children: Map<string, UpdateNode>;
}

const POSITIONAL = /^\$(\[.*\])?$/;
const NUMERIC = /^\d+$/;

/**
 * Arranges the operators of an update by path.
 * @param before the document, of which `$rename` takes its values
 * @throws CommandError for unknown operators, bad paths, and paths that conflict
 */
export function updateTree(update: Doc, before: Doc): UpdateNode {
  const root: UpdateNode = { children: new Map() };
  for (const [operator, fields] of update) {
    if (!knownOperators.has(operator)) throw unknownModifier(operator);
    if (!(fields instanceof Map)) throw notAnObject(operator, fields);
    for (const [path, operand] of fields) addModification(root, path, operator, operand, before);
  }
  return root;
}

/** The children in the order the server applies and logs them: by name, array indexes by number. */
export function sortedChildren(node: UpdateNode): [string, UpdateNode][] {
  return [...node.children].sort(([a], [b]) => {
    if (NUMERIC.test(a) && NUMERIC.test(b)) return Number(a) - Number(b) || Number(a > b) - Number(a < b);
    return compareStrings(a, b);
  });
}

const knownOperators = new Set([
  '$set', '$unset', '$inc', '$mul', '$min', '$max', '$rename', '$currentDate', '$setOnInsert',
  '$push', '$addToSet', '$pop', '$pull', '$pullAll', '$bit',
]);

function unknownModifier(operator: string): CommandError {
  return failedToParse(`Unknown modifier: ${operator}. Expected a valid update modifier or pipeline-style update specified as an array`);
}

function notAnObject(operator: string, fields: Value): CommandError {
  return failedToParse(
    `Modifiers operate on fields but we found type ${typeName(fields)} instead. For example: {$mod: {<field>: ...}} not {${operator}: ${typeName(fields)}}`,
  );
}

function addModification(root: UpdateNode, path: string, operator: string, operand: Value, before: Doc): void {
  if (operator === '$rename') {
    addRename(root, path, operand, before);
    return;
  }
  insert(root, path, { operator, operand });
}

function addRename(root: UpdateNode, from: string, operand: Value, before: Doc): void {
  if (typeof operand !== 'string') throw badValue(`The 'to' field for $rename must be a string: ${from}: ${typeName(operand)}`);
  if (from === operand) throw badValue(`The source and target field for $rename must differ: ${from}: "${operand}"`);
  if (splitPath(from).some(isDynamic)) throw badValue(`The source field for $rename may not be dynamic: ${from}`);
  if (splitPath(operand).some(isDynamic)) throw badValue(`The destination field for $rename may not be dynamic: ${operand}`);
  refuseArrays(before, from, 'source');
  const value = valueAtPath(before, splitPath(from));
  if (value === undefined) {
    refuseConflicts(root, from);
    refuseConflicts(root, operand);
    return;
  }
  refuseArrays(before, operand, 'destination');
  insert(root, from, { operator: '$unset', operand: '' });
  insert(root, operand, { operator: '$set', operand: value });
}

function isDynamic(name: string): boolean {
  return name.startsWith('$');
}

/** `$rename` does not reach into arrays. */
function refuseArrays(before: Doc, path: string, role: 'source' | 'destination'): void {
  let value: Value | undefined = before;
  let name = '';
  for (const next of splitPath(path)) {
    if (Array.isArray(value)) {
      const id = valueText(before.get('_id') ?? null);
      throw badValue(`The ${role} field cannot be an array element, '${path}' in doc with _id: ${id} has an array field called '${name}'`);
    }
    if (!(value instanceof Map)) return;
    value = value.get(next);
    name = next;
  }
}

function refuseConflicts(root: UpdateNode, path: string): void {
  nodeAt(root, path, () => undefined);
}

function insert(root: UpdateNode, path: string, modification: Modification): void {
  const node = nodeAt(root, path, (parent, name) => {
    const made: UpdateNode = { children: new Map() };
    parent.children.set(name, made);
    return made;
  });
  if (node !== undefined) node.modification = modification;
}

/** Walks down a path, checking that nothing on it is changed already. */
function nodeAt(root: UpdateNode, path: string, make: (parent: UpdateNode, name: string) => UpdateNode | undefined): UpdateNode | undefined {
  const names = checkedNames(path);
  let node: UpdateNode | undefined = root;
  for (const [index, name] of names.entries()) {
    node = node.children.get(name) ?? make(node, name);
    if (node === undefined) return undefined;
    if (node.modification !== undefined) throw conflict(path, names.slice(0, index + 1).join('.'));
  }
  if (node.children.size > 0) throw conflict(path, path);
  return node;
}

function checkedNames(path: string): readonly string[] {
  if (path === '') throw new CommandError(56, 'EmptyFieldName', 'An empty update path is not valid.');
  const names = splitPath(path);
  if (names.includes('')) throw new CommandError(56, 'EmptyFieldName', `The update path '${path}' contains an empty field name, which is not allowed.`);
  if (names[0] !== undefined && POSITIONAL.test(names[0])) {
    throw badValue(`Cannot have positional (i.e. '$') element in the first position in path '${path}'`);
  }
  for (const name of names) {
    if (name.startsWith('$') && !POSITIONAL.test(name)) throw dollarPrefixed(`The dollar ($) prefixed field '${name}' in '${path}' is not valid for storage.`);
  }
  return names;
}
