import type { Fleet, FleetNews, InstanceIdentity, InstanceReport, Leader, SeenReport } from '@convoy/api/fleet/fleet';
import { Watchers } from '@convoy/api/fleet/watchers';

/** What the instances of a fleet in one process see of each other; the first to join leads. */
export class Board {
  readonly reports = new Map<string, SeenReport>();
  readonly watchers = new Watchers();
  members: InstanceIdentity[] = [];
  /** False while there is no leader. */
  hasLeader = true;

  /** Connects one more instance to its peers. */
  seat(): Fleet {
    return new BoardFleet(this);
  }
}

/** A fleet over a board, without commands of its own: tests command each instance over HTTP. */
class BoardFleet implements Fleet {
  #identity: InstanceIdentity | null = null;

  constructor(private readonly board: Board) {}

  join(identity: InstanceIdentity): Promise<void> {
    this.#identity = identity;
    this.board.members.push(identity);
    this.board.watchers.notify('leader');
    return Promise.resolve();
  }

  report(report: InstanceReport): void {
    this.board.reports.set(report.identity.id, { report, reportedAt_ms: Date.now(), fresh: true });
    this.board.watchers.notify('report');
  }

  publishDetails(): void {
    return;
  }

  reports(): ReadonlyMap<string, SeenReport> {
    return this.board.reports;
  }

  leader(): Leader | null {
    const [first] = this.board.members;
    return first === undefined || !this.board.hasLeader ? null : { id: first.id, syncID: first.syncID };
  }

  isLeader(): boolean {
    return this.board.hasLeader && this.#identity !== null && this.board.members[0] === this.#identity;
  }

  watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    return this.board.watchers.add(listener);
  }

  serve(): void {
    return;
  }

  wake(): void {
    this.board.watchers.notify('wake');
  }

  announceDdlWatermark(): void {
    this.board.watchers.notify('ddlWatermark');
  }

  leave(): Promise<void> {
    this.board.members = this.board.members.filter((member) => member !== this.#identity);
    this.#identity = null;
    this.board.watchers.notify('leader');
    return Promise.resolve();
  }
}
