import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import type { Evaluate } from '../expression/operator.js';
import { type ExpressionContext, makeVariables, withVariable } from '../expression/variables.js';
import { located } from '../query/query-error.js';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

/** `$redact`: keeps, cuts or looks into each level of a document, as an expression says. */
export function compileRedact(operand: Value, context: PipelineContext): RunStage {
  const expressions: ExpressionContext = {
    ...expressionContext(context),
    let: new Map<string, Value | undefined>([
      ...(context.let ?? []),
      ['DESCEND', 'descend'],
      ['PRUNE', 'prune'],
      ['KEEP', 'keep'],
    ]),
  };
  const decide = compileExpression(operand, expressions);
  return function* (docs) {
    for (const doc of docs) {
      const kept = redacted(doc, doc, decide, expressions);
      if (kept !== undefined) yield kept;
    }
  };
}

function redacted(doc: Doc, root: Doc, decide: Evaluate, context: ExpressionContext): Doc | undefined {
  const decision = decide(withVariable(makeVariables(doc, context), 'ROOT', root));
  if (decision === 'keep') return doc;
  if (decision === 'prune') return undefined;
  if (decision !== 'descend') throw located(17053, '$redact must evaluate to one of $$KEEP, $$PRUNE, or $$DESCEND');
  const kept: Doc = new Map();
  for (const [name, value] of doc) {
    const inner = redactedValue(value, root, decide, context);
    if (inner !== undefined) kept.set(name, inner);
  }
  return kept;
}

function redactedValue(value: Value, root: Doc, decide: Evaluate, context: ExpressionContext): Value | undefined {
  if (value instanceof Map) return redacted(value, root, decide, context);
  if (!Array.isArray(value)) return value;
  return value.flatMap((item) => {
    const inner = redactedValue(item, root, decide, context);
    return inner === undefined ? [] : [inner];
  });
}
