import type { Timestamp } from 'bson';
import type { Collation } from '../bson/collation.js';
import { CommandError } from '../node/command.js';
import type { DateTime, Value } from '../bson/value.js';

/** What expressions may refer to besides the document. */
export interface ExpressionContext {
  /** `$$NOW`. */
  readonly now?: DateTime;
  /** `$$CLUSTER_TIME`. */
  readonly clusterTime?: Timestamp;
  /** Variables of the command's `let`, or of `$lookup`. */
  readonly let?: ReadonlyMap<string, Value>;
  readonly collation?: Collation;
}

/** The variables in sight while one document is evaluated: a chain, innermost first. */
export interface Variables {
  /** `$$ROOT`, and what field paths start from. */
  readonly doc: Value;
  readonly context: ExpressionContext;
  readonly binding?: Binding;
}

interface Binding {
  readonly name: string;
  readonly value: Value | undefined;
  readonly outer: Binding | undefined;
}

export function makeVariables(doc: Value, context: ExpressionContext): Variables {
  return { doc, context };
}

/** The same variables and one more. */
export function withVariable(variables: Variables, name: string, value: Value | undefined): Variables {
  return { doc: variables.doc, context: variables.context, binding: { name, value, outer: variables.binding } };
}

/**
 * The value of `$$name`.
 * @throws CommandError 17276 for an undefined variable, 51144 for `$$CLUSTER_TIME` outside a cluster
 */
export function variableValue(variables: Variables, name: string): Value | undefined {
  for (let binding = variables.binding; binding !== undefined; binding = binding.outer) if (binding.name === name) return binding.value;
  if (name === 'ROOT' || name === 'CURRENT') return variables.doc;
  if (name === 'REMOVE') return undefined;
  const known = variables.context.let?.get(name);
  if (known !== undefined) return known;
  if (name === 'NOW' && variables.context.now !== undefined) return variables.context.now;
  if (name === 'CLUSTER_TIME' && variables.context.clusterTime !== undefined) return variables.context.clusterTime;
  throw new CommandError(17276, 'Location17276', `Use of undefined variable: ${name}`);
}
