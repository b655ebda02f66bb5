import { compareStrings } from '../bson/compare.js';
import { valueText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';
import { splitPath } from '../query/document-path.js';
import { badValue, failedToParse } from '../query/query-error.js';
import { typeName } from '../bson/type-of.js';
import { arrayUpdateOperators } from './array-operators.js';
import type { Change, LeafOperator } from './leaf-operator.js';
import { numberOperators } from './number-operators.js';
import { conflict } from './update-error.js';
import type { UpdateOptions } from './update-options.js';

/** One operator on one path. */
export interface LeafModification {
  readonly operator: string;
  readonly operand: Value;
  readonly change: Change;
}

/** The paths of an update, as a tree. A node either changes its value or has children. */
export interface UpdateNode {
  modification?: LeafModification;
  readonly children: Map<string, UpdateNode>;
}

/** What the paths of an update may name. */
interface TreeOptions extends UpdateOptions {
  /** Names of array filters. Undefined where they have been checked. */
  readonly identifiers?: ReadonlySet<string>;
}

const POSITIONAL = /^\$(\[.*\])?$/;
const FILTERED = /^\$\[(.*)\]$/;
const NUMERIC = /^\d+$/;

/**
 * Arranges the operators of an update by path.
 * @throws CommandError for unknown operators, bad operands and paths, and paths that conflict
 */
export function updateTree(update: Doc, options: TreeOptions = {}): UpdateNode {
  const root: UpdateNode = { children: new Map() };
  for (const [operator, fields] of update) {
    if (!Object.hasOwn(leafOperators, operator) && operator !== '$rename') throw unknownModifier(operator);
    if (!(fields instanceof Map)) throw notAnObject(operator, fields);
    for (const [path, operand] of fields) {
      if (operator === '$rename') addRename(root, path, operand, options);
      else
        insert(root, path, options, () => ({
          operator,
          operand,
          change: leafOperators[operator]?.(operand, { path, options }) ?? keep,
        }));
    }
  }
  return root;
}

const keep: Change = ({ present }) => present;

const leafOperators: Readonly<Record<string, LeafOperator>> = {
  ...numberOperators,
  ...arrayUpdateOperators,
  $set: (operand) => () => operand,
  $setOnInsert:
    (operand) =>
    ({ present, inserting }) =>
      inserting ? operand : present,
  $unset: () => () => undefined,
};

/** The children in the order the server applies and logs them: by name, array indexes by number. */
export function sortedChildren(node: UpdateNode): [string, UpdateNode][] {
  return [...node.children].sort(([a], [b]) => {
    if (NUMERIC.test(a) && NUMERIC.test(b)) return Number(a) - Number(b) || Number(a > b) - Number(a < b);
    return compareStrings(a, b);
  });
}

function unknownModifier(operator: string): CommandError {
  return failedToParse(
    `Unknown modifier: ${operator}. Expected a valid update modifier or pipeline-style update specified as an array`,
  );
}

function notAnObject(operator: string, fields: Value): CommandError {
  return failedToParse(
    `Modifiers operate on fields but we found type ${typeName(fields)} instead. For example: {$mod: {<field>: ` +
      `...}} not {${operator}: ${valueText(fields)}}`,
  );
}

/** A rename appears at both of its paths, and runs at its target. */
function addRename(root: UpdateNode, from: string, operand: Value, options: TreeOptions): void {
  insert(root, from, options, () => ({ operator: '$rename', operand: null, change: keep }));
  if (typeof operand !== 'string')
    throw badValue(`The 'to' field for $rename must be a string: ${from}: ${valueText(operand)}`);
  insert(root, operand, options, () => {
    refuseRename(from, operand);
    return { operator: '$rename', operand: from, change: keep };
  });
}

function refuseRename(from: string, to: string): void {
  if (from === to) throw badValue(`The source and target field for $rename must differ: ${from}: "${to}"`);
  if (to.startsWith(`${from}.`) || from.startsWith(`${to}.`))
    throw badValue(`The source and target field for $rename must not be on the same path: ${from}: "${to}"`);
  if (splitPath(from).some(isDynamic)) throw badValue(`The source field for $rename may not be dynamic: ${from}`);
  if (splitPath(to).some(isDynamic)) throw badValue(`The destination field for $rename may not be dynamic: ${to}`);
}

function isDynamic(name: string): boolean {
  return POSITIONAL.test(name);
}

/** @param make parses the operand, after the check of the path and before the check for conflicts */
function insert(root: UpdateNode, path: string, options: TreeOptions, make: () => LeafModification): void {
  const names = checkedNames(path);
  const modification = make();
  let node = root;
  for (const [index, name] of names.entries()) {
    refuseUnknownFilter(name, index, path, options);
    const known = node.children.get(name);
    const isLast = index === names.length - 1;
    if (known !== undefined && (isLast || known.modification !== undefined))
      throw conflict(path, names.slice(0, index + 1).join('.'));
    const next: UpdateNode = known ?? { children: new Map() };
    node.children.set(name, next);
    node = next;
  }
  node.modification = modification;
}

function refuseUnknownFilter(name: string, index: number, path: string, { identifiers }: TreeOptions): void {
  const identifier = FILTERED.exec(name)?.[1];
  if (identifier === undefined) return;
  if (index === 0)
    throw badValue(
      `Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '${path}'`,
    );
  if (identifier !== '' && identifiers?.has(identifier) === false)
    throw badValue(`No array filter found for identifier '${identifier}' in path '${path}'`);
}

function checkedNames(path: string): readonly string[] {
  if (path === '') throw new CommandError(56, 'EmptyFieldName', 'An empty update path is not valid.');
  const names = splitPath(path);
  if (names.includes(''))
    throw new CommandError(
      56,
      'EmptyFieldName',
      `The update path '${path}' contains an empty field name, which is not allowed.`,
    );
  if (names.includes('$')) throw unsimulated("the positional '$' of an update");
  return names;
}
