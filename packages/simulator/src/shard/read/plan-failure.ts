import { BSONRegExp, BSONSymbol } from 'bson';
import { compareValues } from '../../bson/compare.js';
import { documentText, valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { isOperatorDocument } from '../../query/operator-document.js';
import type { Collection } from '../storage/collection.js';

/** The parts of a query that a refused plan quotes. */
export interface QuotedQuery {
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly projection?: Doc | undefined;
  /** As given. Undefined where omitted. */
  readonly batchSize?: number | undefined;
  /** Infinity for none. */
  readonly limit?: number;
  readonly skip?: number;
  /** Its release decides how lists are quoted. */
  readonly variables?: Pick<ExpressionContext, 'version'> | undefined;
}

/** `error processing query`, with the query as servers quote it when planning fails (seen on 5.0.7). */
export function planFailureText(collection: Collection, query: QuotedQuery, cause: string): string {
  const listEnd = query.variables?.version?.atLeast(8, 0) === true ? ']' : ' ]';
  const { batchSize, limit = Infinity, skip = 0 } = query;
  const window = [
    ...(batchSize === undefined ? [] : [` batchSize=${batchSize}`]),
    ...(limit === Infinity ? [] : [` limit=${limit}`]),
    ...(skip === 0 ? [] : [` skip=${skip}`]),
  ].join('');
  const [sort, projection] = [query.sort, query.projection].map((each) =>
    documentText(each ?? new Map<string, Value>()),
  );
  const shown = `Sort: ${sort}\nProj: ${projection}\n`;
  const tree = treeText(nodeOf(query.filter), '').replaceAll(listEndMark, listEnd);
  return (
    `error processing query: ns=${collection.namespace}${window}Tree: ` +
    `${tree}${shown} planner returned error :: caused by :: ${cause}`
  );
}

/** Stands for the end of a list, before which 8.0.10 has no space. */
const listEndMark = '\u0000]';

/** A condition, or a list of them, in the order that servers give them before planning. */
interface Node {
  readonly text: string;
  readonly rank: number;
  readonly children: readonly Node[];
}

/** Kinds of conditions in their order. */
const kinds = ['$or', '$and', '$eq', '$lte', '$lt', '$gt', '$gte', 'regex', '$in'];

function leaf(path: string, operator: string, operand: Value): Node {
  return { text: `${path} ${operator} ${operandText(operand)}`, rank: kinds.indexOf(operator), children: [] };
}

function operandText(operand: Value): string {
  if (operand instanceof BSONSymbol) return `"${operand.value}"`;
  return operand instanceof BSONRegExp ? `/${operand.pattern}/${operand.options}` : valueText(operand);
}

function nodeOf(filter: Doc): Node {
  return joined(
    '$and',
    [...filter].flatMap(([name, operand]) => conditionsOf(name, operand)),
  );
}

function conditionsOf(name: string, operand: Value): Node[] {
  if ((name === '$or' || name === '$and') && Array.isArray(operand))
    return [
      joined(
        name,
        operand.map((part) => nodeOf(part instanceof Map ? part : new Map<string, Value>())),
      ),
    ];
  if (operand instanceof BSONRegExp) return [leaf(name, 'regex', operand)];
  if (!(operand instanceof Map) || !isOperatorDocument(operand)) return [leaf(name, '$eq', operand)];
  return [...operand].map(([operator, value]) =>
    operator === '$in' && Array.isArray(value) ? oneOf(name, value) : leaf(name, operator, value),
  );
}

/** Values in order, each once. A single one is an equality. */
function oneOf(path: string, values: readonly Value[]): Node {
  const sorted = [...values]
    .sort(compareValues)
    .filter((value, at, all) => at === 0 || compareValues(value, all[at - 1] ?? null) !== 0);
  const [only] = sorted;
  if (sorted.length === 1 && only !== undefined)
    return only instanceof BSONRegExp ? leaf(path, 'regex', only) : leaf(path, '$eq', only);
  return {
    text: `${path} $in [ ${sorted.length === 0 ? ']' : `${sorted.map(operandText).join(' ')}${listEndMark}`}`,
    rank: kinds.indexOf('$in'),
    children: [],
  };
}

function joined(name: '$and' | '$or', children: readonly Node[]): Node {
  const [only] = children;
  if (children.length === 1 && only !== undefined) return only;
  return { text: name, rank: kinds.indexOf(name), children: [...children].sort((a, b) => a.rank - b.rank) };
}

function treeText({ text, children }: Node, indent: string): string {
  return `${indent}${text}\n${children.map((child) => treeText(child, `${indent}    `)).join('')}`;
}
