import { Int32, Timestamp } from 'bson';
import { compareValues } from '../bson/compare.js';
import { DateTime, type Doc, type Value } from '../bson/value.js';
import { type CommandRequest, CommandError } from '../node/command.js';
import { doc, isTrue, docOf, numberOf } from '../node/doc-fields.js';
import { agreedCompressors } from '../wire/compression.js';
import { messageBytesMax } from '../wire/protocol.js';
import { electionTerm, maxBsonObjectSize, type NodeIdentity } from './node-identity.js';

const writeBatchMax = new Int32(100_000);
const sessionTimeoutMinutes = new Int32(30);

/**
 * `hello`, or `isMaster` in its old form. With `topologyVersion` and `maxAwaitTimeMS` it waits until the topology
 * changes.
 * @param lastWrite time of the last oplog entry; unused by routers
 */
export async function helloReply(
  identity: NodeIdentity,
  request: CommandRequest,
  lastWrite: () => Timestamp,
): Promise<Doc> {
  await awaitTopologyChange(identity, request);
  const reply =
    identity.kind === 'router' ? routerHello(identity, request) : memberHello(identity, request, lastWrite());
  const offered = request.body.get('compression');
  const agreed = Array.isArray(offered) ? agreedCompressors(offered) : [];
  if (agreed.length > 0) reply.set('compression', agreed);
  return reply;
}

function routerHello(identity: NodeIdentity, request: CommandRequest): Doc {
  const reply = doc([writableField(request), true], ['msg', 'isdbgrid'], ['topologyVersion', identity.topologyVersion]);
  if (isTrue(request.body.get('helloOk'))) reply.set('helloOk', true);
  for (const [name, value] of limits(request)) reply.set(name, value);
  return reply.set('maxWireVersion', new Int32(identity.version.wireVersionMax)).set('minWireVersion', new Int32(0));
}

function memberHello(identity: NodeIdentity, request: CommandRequest, lastWrite: Timestamp): Doc {
  const reply: Doc = new Map();
  if (isTrue(request.body.get('helloOk'))) reply.set('helloOk', true);
  const fields: [string, Value][] = [
    ['topologyVersion', identity.topologyVersion],
    ['hosts', [identity.host]],
    ['setName', identity.setName],
    ['setVersion', new Int32(setVersion(identity))],
    [writableField(request), identity.role.primary],
    ['secondary', !identity.role.primary],
    ...(identity.role.primary ? ([['primary', identity.host]] as [string, Value][]) : []),
    ['me', identity.host],
    ...(identity.role.primary ? ([['electionId', identity.role.electionId]] as [string, Value][]) : []),
    ['lastWrite', lastWriteFields(lastWrite)],
  ];
  if (identity.kind !== 'replicaSet' && identity.version.atLeast(5, 0))
    fields.push(['isImplicitDefaultMajorityWC', true]);
  if (identity.kind === 'config') fields.push(['configsvr', new Int32(2)]);
  fields.push(
    ...limits(request),
    ['minWireVersion', new Int32(0)],
    ['maxWireVersion', new Int32(identity.version.wireVersionMax)],
    ['readOnly', false],
  );
  for (const [name, value] of fields) reply.set(name, value);
  return reply;
}

function writableField(request: CommandRequest): string {
  return request.name === 'hello' ? 'isWritablePrimary' : 'ismaster';
}

function limits(request: CommandRequest): [string, Value][] {
  return [
    ['maxBsonObjectSize', maxBsonObjectSize],
    ['maxMessageSizeBytes', new Int32(messageBytesMax)],
    ['maxWriteBatchSize', writeBatchMax],
    ['localTime', new DateTime(BigInt(Date.now()))],
    ['logicalSessionTimeoutMinutes', sessionTimeoutMinutes],
    ['connectionId', new Int32(request.connection.id)],
  ];
}

/** A position in the oplog as the server shows it: time and term. */
export function opTime(time: Timestamp): Doc {
  return doc(['ts', time], ['t', electionTerm]);
}

/** The wall clock of an oplog time, in whole seconds. */
export function wallTime(time: Timestamp): DateTime {
  return new DateTime(BigInt(time.t) * 1000n);
}

function lastWriteFields(time: Timestamp): Doc {
  return doc(
    ['opTime', opTime(time)],
    ['lastWriteDate', wallTime(time)],
    ['majorityOpTime', opTime(time)],
    ['majorityWriteDate', wallTime(time)],
  );
}

/** The version of the set's configuration. Before 8.0 it changes when a shard is added. */
export function setVersion({ kind, deployment }: NodeIdentity): number {
  return kind === 'replicaSet' || (kind === 'shard' && deployment.version.atLeast(8, 0)) ? 1 : 2;
}

/** Longest time a client may wait for a topology change in one hello, in milliseconds. */
const awaitMsMax = 30_000;

/** Codes of the errors, which routers have of their own. */
const memberCodes = { half: 31_368, counter: 31_372, wait: 31_373 } as const;
const routerCodes = { half: 51_760, counter: 51_758, wait: 51_759 } as const;

/**
 * Waits as long as a hello asks, until the topology differs from the one that the client knows.
 * @throws CommandError when only one of `topologyVersion` and `maxAwaitTimeMS` is given, or a negative one
 */
async function awaitTopologyChange(identity: NodeIdentity, request: CommandRequest): Promise<void> {
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
