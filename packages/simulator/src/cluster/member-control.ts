import type { Timestamp } from 'bson';
import { setTimeout as delay } from 'node:timers/promises';
import type { Doc } from '../bson/value.js';
import type { NodeIdentity } from '../every-node/node-identity.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { isTrue, numberOf } from '../node/doc-fields.js';
import { unsimulated } from '../node/unsimulated.js';
import type { ShardNode } from '../shard/shard-node.js';
import type { FailPoints } from '../faults/fail-points.js';
import type { WireServer } from '../wire/wire-server.js';
import { NodeControl } from './node-control.js';

/** Defaults of `replSetStepDown` (manual). */
const stepDownSecondsDefault = 60;
const catchUpSecondsDefault = 10;
const millisecondsPerSecond = 1000;

/** Faults of a data-bearing node, and the commands with which clients cause them. */
export class MemberControl extends NodeControl {
  #election: NodeJS.Timeout | undefined;

  constructor(
    name: string,
    identity: NodeIdentity,
    server: WireServer,
    failPoints: FailPoints,
    private readonly shard: ShardNode,
    /** Called when the process ends, so that what other nodes had open there ends too. */
    onEnd: () => void,
  ) {
    super(name, identity, server, failPoints, {
      end: () => {
        clearTimeout(this.#election);
        shard.crash();
        onEnd();
      },
      begin: () => {
        shard.resume();
        shard.access.appendNoop(new Map([['msg', 'new primary']]));
      },
      freeze: () => shard.standStill(),
      wake: () => shard.resume(),
    });
  }

  /**
   * Steps down: the member is secondary and refuses writes (10107) until it is elected again. Connections and cursors
   * stay. Running transactions end.
   * @param seconds until its election, as the only member
   */
  stepDown(seconds: number): void {
    if (!this.running || !this.identity.role.primary) return;
    this.identity.role.stepDown();
    this.shard.stepDown();
    this.#election = setTimeout(() => this.elect(), seconds * millisecondsPerSecond);
    this.#election.unref();
  }

  /** Elects the member now if it has stepped down. */
  elect(): void {
    if (!this.running || this.identity.role.primary) return;
    clearTimeout(this.#election);
    this.identity.role.elect();
    this.shard.resume();
    this.shard.access.appendNoop(new Map([['msg', 'new primary']]));
  }

  /**
   * Fills the oplog until it no longer reaches back to a time.
   * @param before everything older is truncated; by default everything so far
   */
  fillOplog(before?: Timestamp): void {
    const newest = this.shard.access.appendNoop(new Map([['msg', 'oplog filled']]));
    this.shard.loseOplogBefore(before ?? newest);
  }

  /**
   * Answers `replSetStepDown`; undefined for all other commands.
   * @throws CommandError 115 for `replSetFreeze` and `shutdown`
   */
  answer(request: CommandRequest): Promise<Doc> | undefined {
    if (request.name === 'replSetStepDown') return this.#stepDownCommand(request);
    if (request.name === 'replSetFreeze' || request.name === 'shutdown') throw unsimulated(request.name);
    return undefined;
  }

  async #stepDownCommand({ body, signal }: CommandRequest): Promise<Doc> {
    const seconds = numberOf(body.get('replSetStepDown')) || stepDownSecondsDefault;
    const force = isTrue(body.get('force'));
    const catchUpSeconds = numberOf(body.get('secondaryCatchUpPeriodSecs')) ?? (force ? 0 : catchUpSecondsDefault);
    if (seconds < 0) throw new CommandError(2, 'BadValue', 'stepdown period must be a positive integer');
    if (catchUpSeconds < 0)
      throw new CommandError(2, 'BadValue', 'secondaryCatchUpPeriodSecs period must be a positive or absent');
    if (seconds < catchUpSeconds)
      throw new CommandError(2, 'BadValue', 'stepdown period must be longer than secondaryCatchUpPeriodSecs');
    if (!this.identity.role.primary)
      throw new CommandError(10107, 'NotWritablePrimary', `not primary so can't step down`);
    if (!force) await this.#refuseWithoutForce(catchUpSeconds, signal);
    this.stepDown(seconds);
    return new Map();
  }

  /** The only member has no other member to hand over to. */
  async #refuseWithoutForce(catchUpSeconds: number, signal: AbortSignal): Promise<never> {
    await delay(catchUpSeconds * millisecondsPerSecond, undefined, { signal, ref: false }).catch(() => undefined);
    const when = new Date().toISOString();
    const advice = 'Please use the replSetStepDown command with the argument {force: true} to force node to step down.';
    throw new CommandError(262, 'ExceededTimeLimit', `No electable secondaries caught up as of ${when}. ${advice}`);
  }
}
