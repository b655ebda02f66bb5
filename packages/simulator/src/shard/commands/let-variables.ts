import { DateTime } from '../../bson/value.js';
import { withLet } from '../../expression/let.js';
import type { ExpressionContext } from '../../expression/variables.js';
import type { CommandContext } from './command-context.js';

/** What expressions of a command may refer to: `$$NOW`, `$$CLUSTER_TIME` and the variables of `let`. */
export function letVariables({ request, state }: CommandContext): ExpressionContext {
  const context = { now: new DateTime(BigInt(state.now())), clusterTime: state.oplog.lastTime, version: state.version };
  const definitions = request.body.get('let');
  return definitions instanceof Map ? withLet(definitions, context) : context;
}
