import { DateTime } from '../../bson/value.js';
import { withLet } from '../../expression/let.js';
import type { ExpressionContext } from '../../expression/variables.js';
import type { CommandContext } from './command-context.js';

/** What expressions of a command may refer to: the variables of `let`, and the time of `$currentDate`. */
export function letVariables({ request, state }: CommandContext): ExpressionContext {
  const context = { now: new DateTime(BigInt(state.now())), version: state.version };
  const definitions = request.body.get('let');
  return definitions instanceof Map ? withLet(definitions, context) : context;
}
