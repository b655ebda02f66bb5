import { BSONRegExp } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { isOperatorDocument } from './operator-document.js';

/**
 * The fields that a filter fixes by equality, for targeting and upserts: `{a: 1}`, `{a: {$eq: 1}}`, `$in` and `$or` of
 * one, and these inside `$and`. Regular expressions fix nothing.
 */
export function equalityFields(filter: Doc): Map<string, Value> {
  const fields = new Map<string, Value>();
  collectEqualities(filter, fields);
  return fields;
}

function collectEqualities(filter: Doc, fields: Map<string, Value>): void {
  for (const [name, operand] of filter) {
    if (name === '$and' || (name === '$or' && Array.isArray(operand) && operand.length === 1)) {
      for (const part of Array.isArray(operand) ? operand : [])
        if (part instanceof Map) collectEqualities(part, fields);
    } else if (!name.startsWith('$')) {
      const value = equalityValue(operand);
      if (value !== undefined) fields.set(name, value);
    }
  }
}

function equalityValue(operand: Value): Value | undefined {
  if (operand instanceof BSONRegExp) return undefined;
  if (!(operand instanceof Map) || !isOperatorDocument(operand)) return operand;
  const equal = operand.get('$eq');
  if (equal !== undefined) return equal;
  const list = operand.get('$in') ?? operand.get('$all');
  const only = Array.isArray(list) && list.length === 1 ? list[0] : undefined;
  return only instanceof BSONRegExp || isOperatorDocument(only ?? null) ? undefined : only;
}
