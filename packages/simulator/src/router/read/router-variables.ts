import { withLet } from '../../expression/let.js';
import type { ExpressionContext } from '../../expression/variables.js';
import type { CommandRequest } from '../../node/command.js';
import { docOrEmpty } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** What expressions of a command may refer to where a router computes them: the variables of `let`. */
export function routerVariables({ version }: RouterContext, { body }: CommandRequest): ExpressionContext {
  return withLet(docOrEmpty(body.get('let')), { version });
}
