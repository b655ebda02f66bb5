import { Double, Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import { chunkBytes } from '../../config/chunk-size.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';
import type { Balancer } from './balancer.js';
import { planMoves, zoneSplits } from './balancer-policy.js';

const bytesPerMegabyte = 1024 * 1024;

/** `balancerCollectionStatus`: what the balancer still has to do for a collection. */
export function balancerCollectionStatus(context: RouterContext, request: CommandRequest, balancer: Balancer): Doc {
  const namespace = requiredText(request.body, 'balancerCollectionStatus');
  if (context.version.atLeast(8, 0) && context.catalog.collection(namespace) === undefined)
    throw new CommandError(118, 'NamespaceNotSharded', 'Collection unsharded or undefined');
  const collection = context.catalog.sharded(namespace);
  const input = balancer.input(collection);
  const inZones = zoneSplits(collection, input.zones).length === 0;
  const violation = inZones ? planMoves(input)[0]?.reason : 'zoneViolation';
  const reply: Doc = new Map();
  const size = chunkBytes(context.configShard.access, context.version) / bytesPerMegabyte;
  if (context.version.atLeast(8, 0)) reply.set('chunkSize', new Double(size));
  else if (context.version.atLeast(6, 0)) reply.set('chunkSize', new Int32(Math.floor(size)));
  reply.set('balancerCompliant', violation === undefined);
  return violation === undefined ? reply : reply.set('firstComplianceViolation', violation);
}
