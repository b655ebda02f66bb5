import { compareValues } from '../bson/compare.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { docOf, numberOf } from '../node/doc-fields.js';
import type { NodeIdentity } from './node-identity.js';

/** Longest time a client may wait for a topology change in one hello, in milliseconds. */
const awaitMsMax = 30_000;

/** Codes of the errors, which routers have of their own. */
const memberCodes = { half: 31_368, counter: 31_372, wait: 31_373 } as const;
const routerCodes = { half: 51_760, counter: 51_758, wait: 51_759 } as const;

/**
 * Waits as long as a hello asks, until the topology differs from the one that the client knows.
 * @throws CommandError when only one of `topologyVersion` and `maxAwaitTimeMS` is given, or a negative one
 */
export async function awaitTopologyChange(identity: NodeIdentity, request: CommandRequest): Promise<void> {
  const known = docOf(request.body.get('topologyVersion'));
  const waitMs = numberOf(request.body.get('maxAwaitTimeMS'));
  if (known === undefined && waitMs === undefined) return;
  const codes = identity.kind === 'router' ? routerCodes : memberCodes;
  if (known === undefined)
    throw failure(codes.half, "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'");
  if (waitMs === undefined)
    throw failure(codes.half, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'");
  if ((numberOf(known.get('counter')) ?? 0) < 0)
    throw failure(codes.counter, 'topologyVersion must have a non-negative counter');
  if (waitMs < 0) throw failure(codes.wait, 'maxAwaitTimeMS must be a non-negative integer');
  if (compareValues(known, identity.topologyVersion) === 0)
    await identity.condition.change(Math.min(waitMs, awaitMsMax), request.signal);
}

function failure(code: number, message: string): CommandError {
  return new CommandError(code, `Location${code}`, message);
}
