import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Closers } from '@convoy/testbed/closers';
import { Child } from '@convoy/testbed/process/child';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { CoordinatorProcess } from '@convoy/cli/environment/fleet/coordinator-process';
import type { Mark, MemberOrder, MemberState } from './member-order.js';

const script = fileURLToPath(new URL('member-process.js', import.meta.url));
/** Members of one process, besides the leader and a plain member, which have one each. */
const membersPerProcess = 64;
/** On a loaded host, with all members of a process at once. */
const readyWithin_ms = 300_000;

/** A process with members of a fleet. */
export class MemberProcess implements AsyncDisposable {
  private constructor(
    private readonly child: Child,
    private readonly url: string,
  ) {}

  static async start(name: string, order: MemberOrder, folder: ScratchFolder): Promise<MemberProcess> {
    const child = await Child.start({
      name,
      command: process.execPath,
      args: [script, JSON.stringify(order)],
      ready: /^\{"url":"(.*)"\}$/,
      readyWithin_ms,
      logFile: folder.file(`${order.fleet}-${name}.log`),
    });
    return new MemberProcess(child, child.ready[1] ?? '');
  }

  get pid(): number {
    return this.child.pid;
  }

  async state(): Promise<MemberState> {
    return (await (await fetch(this.url)).json()) as MemberState;
  }

  async mark(): Promise<Mark> {
    return (await (await fetch(this.url, { method: 'POST' })).json()) as Mark;
  }

  async kill(): Promise<void> {
    await this.child.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.stop();
  }
}

export interface ScaleFleetOptions {
  redis: string;
  ids: readonly string[];
  folder: ScratchFolder;
  clusters?: MemberOrder['clusters'];
}

/** A coordinator process and member processes: the leader's, a plain member's, and those of all others. */
export class ScaleFleet implements AsyncDisposable {
  private constructor(
    readonly name: string,
    readonly ids: readonly string[],
    readonly coordinator: CoordinatorProcess,
    readonly leader: MemberProcess,
    readonly plain: MemberProcess,
    readonly others: readonly MemberProcess[],
    private readonly closers: Closers,
  ) {}

  /** Starts all, the leader first, and waits until the coordinator hears every member. */
  static async start({ redis, ids, folder, clusters }: ScaleFleetOptions): Promise<ScaleFleet> {
    const closers = new Closers();
    try {
      const name = `scale-${ids.length}-${randomBytes(4).toString('hex')}`;
      const coordinator = closers.use(await CoordinatorProcess.start({ redis, fleet: name }, folder, {}, name));
      const start = async (what: string, own: readonly string[]): Promise<MemberProcess> => {
        const order = { redis, fleet: name, ids: own, allIds: ids, ...(clusters && { clusters }) };
        return closers.use(await MemberProcess.start(what, order, folder));
      };
      const leader = await start('leader', ids.slice(0, 1));
      await pollUntil('the first member leads', readyWithin_ms, async () => (await leader.state()).leads.length === 1);
      const plain = await start('plain', ids.slice(1, 2));
      const others: MemberProcess[] = [];
      for (let at = 2; at < ids.length; at += membersPerProcess)
        others.push(await start(`others-${at}`, ids.slice(at, at + membersPerProcess)));
      const fleet = new ScaleFleet(name, ids, coordinator, leader, plain, others, closers);
      await pollUntil('all members are known', readyWithin_ms, async () => (await fleet.reachable()) === ids.length);
      return fleet;
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Number of members that the coordinator hears. */
  async reachable(): Promise<number> {
    const reply = await fetch(`${this.coordinator.url}/api/v1/instances`);
    const { instances } = (await reply.json()) as { instances: { reachable: boolean }[] };
    return instances.filter(({ reachable }) => reachable).length;
  }

  get members(): readonly MemberProcess[] {
    return [this.leader, this.plain, ...this.others];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closers[Symbol.asyncDispose]();
  }
}
