import type { Fleet, FleetNews, InstanceIdentity, InstanceReport, Leader, SeenReport } from '@convoy/api/fleet/fleet';
import { Watchers } from '@convoy/api/fleet/watchers';
import type { Adversary } from './adversary.js';
import type { ProcessState } from './process-state.js';
import type { VirtualTime } from './virtual-time.js';

/** A member that was silent for so long does not count. */
const lease_ms = 10_000;
/** The longest delay of messages without faults. */
const message_ms = 20;

/**
 * The fleet of several instances in one process: messages are late and get lost, and leaders change on command.
 */
export class SoakFleet {
  readonly #seats = new Set<Seat>();
  #leader: Seat | null = null;
  /** Chance that a message is lost, and by how much one may be late. */
  lost = 0;
  lateMax_ms = 0;

  constructor(
    private readonly time: VirtualTime,
    private readonly adversary: Adversary,
  ) {}

  /** The way of one more process to its peers. */
  seat(state: ProcessState): Seat {
    return new Seat(this, this.time, state);
  }

  add(seat: Seat): void {
    this.#seats.add(seat);
    if (this.#leader === null || this.#leader.state.dead) this.elect(seat);
  }

  remove(seat: Seat): void {
    this.#seats.delete(seat);
  }

  /** Makes a member the leader; the one before may believe in itself a while longer. */
  elect(seat: Seat): void {
    const before = this.#leader;
    this.#leader = seat;
    if (before !== null && before !== seat) void this.#later().then(() => before.lead(this.#leader === before));
    for (const each of this.#seats) void this.#later().then(() => each.hearOfLeader(this.#leader?.identity ?? null));
    seat.lead(true);
  }

  /** Makes the member of this place the leader, counted among those that run. */
  electOne(place: number): void {
    const running = [...this.#seats].filter(({ state }) => state.running);
    const chosen = running[place % Math.max(1, running.length)];
    if (chosen !== undefined) this.elect(chosen);
  }

  /** Elects somebody when the leader is gone. */
  replaceDeadLeader(): void {
    if (this.#leader !== null && this.#leader.state.running && this.#seats.has(this.#leader)) return;
    this.electOne(0);
  }

  /** Notifies all others, unless the message gets lost. */
  broadcast(from: Seat, send: (seat: Seat) => void): void {
    for (const seat of this.#seats) {
      if (seat !== from && !this.adversary.happens(this.lost)) void this.#deliver(seat, send);
    }
  }

  async #deliver(seat: Seat, send: (seat: Seat) => void): Promise<void> {
    await this.#later();
    await seat.state.awake();
    send(seat);
  }

  #later(): Promise<void> {
    return this.time.sleep(this.adversary.upTo(message_ms) + this.adversary.upTo(this.lateMax_ms));
  }
}

/** The fleet as one process sees it. */
export class Seat implements Fleet {
  readonly #watchers = new Watchers();
  readonly #reports = new Map<string, SeenReport>();
  #identity: InstanceIdentity | null = null;
  #leads = false;
  #knownLeader: Leader | null = null;

  constructor(
    private readonly fleet: SoakFleet,
    private readonly time: VirtualTime,
    readonly state: ProcessState,
  ) {}

  get identity(): InstanceIdentity | null {
    return this.#identity;
  }

  /** @internal by the fleet */
  lead(leads: boolean): void {
    this.#leads = leads;
    this.#watchers.notify('leader');
  }

  /** @internal by the fleet */
  hearOfLeader(identity: InstanceIdentity | null): void {
    this.#knownLeader = identity === null ? null : { id: identity.id, syncID: identity.syncID };
    this.#watchers.notify('leader');
  }

  join(identity: InstanceIdentity): Promise<void> {
    this.#identity = identity;
    this.fleet.add(this);
    return Promise.resolve();
  }

  report(report: InstanceReport): void {
    const reportedAt_ms = this.time.elapsed_ms;
    this.#hear(report, reportedAt_ms);
    this.fleet.broadcast(this, (seat) => seat.#hear(report, reportedAt_ms));
  }

  publishDetails(): void {
    return;
  }

  reports(): ReadonlyMap<string, SeenReport> {
    const now_ms = this.time.elapsed_ms;
    return new Map(
      [...this.#reports].map(([id, seen]) => [id, { ...seen, fresh: now_ms - seen.reportedAt_ms < lease_ms }]),
    );
  }

  leader(): Leader | null {
    return this.#knownLeader;
  }

  isLeader(): boolean {
    return this.#leads;
  }

  watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    return this.#watchers.add((news) => {
      void this.state.awake().then(() => listener(news));
    });
  }

  serve(): void {
    return;
  }

  wake(): void {
    this.#send('wake');
  }

  announceDdlWatermark(): void {
    this.#send('ddlWatermark');
  }

  #send(news: FleetNews): void {
    this.#watchers.notify(news);
    this.fleet.broadcast(this, (seat) => seat.#watchers.notify(news));
  }

  leave(): Promise<void> {
    this.#leads = false;
    this.fleet.remove(this);
    return Promise.resolve();
  }

  #hear(report: InstanceReport, reportedAt_ms: number): void {
    const known = this.#reports.get(report.identity.id);
    if (known !== undefined && known.reportedAt_ms > reportedAt_ms) return;
    this.#reports.set(report.identity.id, { report, reportedAt_ms, fresh: true });
    this.#watchers.notify('report');
  }
}
