import { expect } from 'vitest';
import type { ReleaseSeries } from '@convoy/simulator';
import { Closers } from '@convoy/testbed/closers';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { Fleet } from '@convoy/cli/environment/fleet/start-fleet';
import { loadEverything } from '../data.js';
import { Clusters, defaultStart, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { Workload } from '../workload.js';
import { CommandGate, type Hold } from '../gate/command-gate.js';
import { isFullRun } from '../requirements.js';
import { DdlChanges } from './ddl-changes.js';
import { copiesDocuments, fieldsOf, type LeaderStep, type Provocation } from './leader-steps.js';
import { type Leading, readLeaders } from './leaders.js';
import type { Member } from './member.js';
import { StepHold, within_ms } from './step-hold.js';
import { isUnnamed } from './unnamed-steps.js';
import type { SentCommand } from '../gate/wire-messages.js';

const orders = 1_000;
const shards = isFullRun ? 4 : 2;

/** A fleet of two or four instances under writes, each of which reaches the destination through a gate of its own. */
export class FaultyFleet implements AsyncDisposable {
  readonly changes: DdlChanges;
  /** Logs of processes that were replaced by others. */
  readonly #formerLogs: string[] = [];
  readonly #stepHolds: StepHold[] = [];
  /** Commands of leaders outside of the listed steps. */
  readonly #unnamed: readonly (readonly SentCommand[])[];

  private constructor(
    readonly clusters: Clusters,
    readonly fleet: Fleet,
    readonly members: Member[],
    readonly workload: Workload,
    private readonly closers: Closers,
  ) {
    this.changes = new DdlChanges(clusters.clients.source);
    this.#unnamed = members.map(({ gate }) => gate.record(isUnnamed));
  }

  /** @param release of simulated servers */
  static async start(settings: Readonly<Record<string, unknown>> = {}, release?: ReleaseSeries): Promise<FaultyFleet> {
    const closers = new Closers();
    try {
      const topologies = { source: { shards }, destination: { shards } };
      const clusters = closers.use(await Clusters.start({ ...topologies, ...(release !== undefined && { release }) }));
      const { source } = clusters.clients;
      await loadEverything(source, clusters.source, orders);
      await new DdlChanges(source).load();
      const gates = new Map<string, CommandGate>();
      for (const id of clusters.source.shardIds)
        gates.set(id, closers.use(await CommandGate.open(clusters.destination)));
      const ways = new Map([...gates].map(([id, gate]) => [id, gate.way(clusters.destination)]));
      const fleet = closers.use(await clusters.startFleet({ catalogInterval_seconds: 1, ...settings }, ways));
      const members = [...gates].map(([id, gate], index) => ({
        id,
        gate,
        process: fleet.instances[index] as InstanceProcess,
      }));
      return new FaultyFleet(clusters, fleet, members, closers.use(Workload.start(source, orders)), closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  get client(): Fleet['coordinator']['client'] {
    return this.fleet.coordinator.client;
  }

  /** Who has led so far, in the order of epochs. */
  get leaders(): Leading[] {
    return readLeaders([...this.members.map(({ process }) => process.logFile), ...this.#formerLogs]);
  }

  get epoch(): number {
    return this.leaders.at(-1)?.epoch ?? 0;
  }

  /** The instance with the latest epoch. */
  get leader(): Member {
    const logFile = this.leaders.at(-1)?.logFile;
    const leader = this.members.find(({ process }) => process.logFile === logFile);
    if (leader === undefined) throw new Error('No instance leads.');
    return leader;
  }

  /** Held commands of the members, for messages. */
  get held(): string[] {
    return this.members.flatMap(({ id, gate }) =>
      gate.held.map(({ name, database, target }) => `${id}: ${name} ${database} ${target}`),
    );
  }

  async untilNextLeader(after: number): Promise<void> {
    await expect.poll(() => this.epoch, { timeout: within_ms }).toBeGreaterThan(after);
  }

  /** Does what brings the leader to a step. */
  async provoke(provocation: Provocation): Promise<void> {
    if (provocation !== 'newLeader') return this.changes.make(provocation);
    const { process } = this.leader;
    await process.kill();
    // Its successor is on its way to the step meanwhile.
    void process.restart().catch(() => undefined);
  }

  /** Holds the leader in a step as soon as it reaches it. */
  holdAt(step: LeaderStep): StepHold {
    const hold = new StepHold(this, step);
    this.#stepHolds.push(hold);
    return hold;
  }

  /**
   * Keeps one instance from ending its copy: one that does not lead, so that the leader can still come to a step of the
   * copy. Resolves once it copies.
   */
  async holdCopy(): Promise<Hold> {
    await this.untilNextLeader(0);
    const { leader } = this;
    const other = this.members.find((member) => member !== leader);
    if (other === undefined) throw new Error('There is no instance but the leader.');
    const hold = other.gate.hold(copiesDocuments);
    await expect.poll(() => hold.waiting.length, { timeout: within_ms }).toBeGreaterThan(0);
    return hold;
  }

  async start(): Promise<void> {
    await this.client.start(defaultStart);
  }

  /** Waits until everything is copied and all instances are fresh and ready. */
  async untilReady(): Promise<void> {
    await untilProgress(this.client, 'canCommit', ({ canCommit }) => canCommit, within_ms);
  }

  /**
   * Starts the instances by hand, one after the other. The last one is first sent another option than the rest, and
   * refuses it; until it is started the others wait, and say for whom.
   */
  async startByHand(): Promise<void> {
    const last = this.members.at(-1);
    if (last === undefined) throw new Error('There is no instance.');
    const others = this.members.filter((member) => member !== last);
    for (const { process } of others) expect(await process.client.start(defaultStart)).toEqual({ success: true });
    const other = { ...defaultStart, excludeNamespaces: [{ database: 'elsewhere' }] };
    await expect(last.process.client.start(other)).rejects.toMatchObject({
      error: 'optionsDiffer',
      errorDescription: expect.stringContaining('excludeNamespaces') as string,
    });
    for (const { process } of others) {
      const { progress } = await process.client.progress();
      expect(progress).toMatchObject({
        state: 'RUNNING',
        canCommit: false,
        collectionCopy: { estimatedCopiedBytes: 0, estimatedTotalBytes: 1 },
      });
      expect(progress.warnings).toContainEqual({
        name: 'waitingForInstances',
        description: expect.stringContaining(last.id) as string,
      });
    }
    await last.process.client.start(defaultStart);
  }

  /** Sends the commit, again while a collection that is found late revokes canCommit. */
  async requestCommit(): Promise<void> {
    await this.workload.stop();
    await untilTaken(() => this.client.commit());
  }

  /** Whether the migration is committed. */
  async isOver(): Promise<boolean> {
    const record = await this.clusters.clients.destination
      .db('convoy_metadata')
      .collection<{ phase: string }>('migration')
      .findOne();
    return record?.phase === 'committed';
  }

  /**
   * Starts another process in the place of a member that no longer answers, and waits until it has the task, or until
   * nothing is left to take.
   */
  async succeed(former: Member): Promise<void> {
    const { destination } = this.clusters;
    const metadata = this.clusters.clients.destination.db('convoy_metadata');
    const epochOf = async (): Promise<number> =>
      (await metadata.collection<{ _id: string; epoch: number }>('tasks').findOne({ _id: former.id }))?.epoch ?? 0;
    const before = await epochOf();
    const { id } = former;
    const gate = this.closers.use(await CommandGate.open(destination));
    // Its place in the holds is there before it can send anything.
    const member = { id, gate, process: former.process };
    for (const hold of this.#stepHolds) hold.add(member);
    const process = await this.fleet.startSuccessor(id, gate.way(destination));
    this.#formerLogs.push(former.process.logFile);
    this.members[this.members.findIndex((one) => one.id === id)] = Object.assign(member, { process });
    await expect
      .poll(async () => (await epochOf()) > before || (await this.isOver()), { timeout: within_ms })
      .toBe(true);
    for (const hold of this.#stepHolds) hold.remove(former);
  }

  /**
   * Waits for the end of the migration, and expects equal clusters, the balancer as it was, one leader for each epoch,
   * and a step in the list for all that leaders have sent.
   */
  async expectEnd(): Promise<void> {
    await untilCommitted(this.client);
    for (const { process } of this.members) await untilCommitted(process.client);
    await this.clusters.expectEqual();
    expect(await this.clusters.clients.destination.db('admin').command({ balancerStatus: 1 })).toMatchObject({
      mode: 'full',
    });
    const epochs = this.leaders.map(({ epoch }) => epoch);
    expect(epochs).toEqual([...new Set(epochs)]);
    const described = this.#unnamed.flat().map(
      ({ name, target, body }) =>
        `${name} ${target} (${fieldsOf(body)
          .map(([path]) => path)
          .join(', ')})`,
    );
    expect([...new Set(described)]).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closers[Symbol.asyncDispose]();
  }
}
