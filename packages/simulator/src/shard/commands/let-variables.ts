import type { ExpressionContext } from '../../expression/variables.js';
import { DateTime } from '../../bson/value.js';
import type { CommandContext } from './command-context.js';

/** What expressions of a command may refer to: `$$NOW`, `$$CLUSTER_TIME` and the variables of `let`. */
export function letVariables({ request, state }: CommandContext): ExpressionContext {
  const variables = request.body.get('let');
  return {
    now: new DateTime(BigInt(state.now())),
    clusterTime: state.oplog.lastTime,
    ...(variables instanceof Map ? { let: variables } : {}),
  };
}
