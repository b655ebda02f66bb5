import { hostname } from 'node:os';
import { History } from './storage/history.js';
import { Catalog } from './storage/catalog.js';
import { Oplog } from './oplog/oplog.js';
import { GlobalLock } from './global-lock.js';
import { RunningBuilds } from './index-spec/running-builds.js';
import { Interruption } from './interruption.js';
import { DonatedMoves } from './donated-moves.js';
import { ShownCoordinators } from './shown-coordinators.js';
import { Coordinators } from './session/coordinators.js';
import type { RunningTransaction } from './session/running-transaction.js';
import { ExclusiveUse } from './session/exclusive-use.js';
import { Sessions } from './session/sessions.js';
import { Cursors } from './cursor/cursors.js';
import { OpenBuckets } from './time-series/open-buckets.js';
import { TtlMonitor } from './ttl-monitor.js';
import { DocumentWriter } from './write/document-writer.js';
import type { ClusterClock } from '../node/clock.js';
import { Deployment } from '../node/deployment.js';
import { NodeRelease } from '../node/node-release.js';
import { defaultVersion, type ServerVersion } from '../node/server-version.js';
import type { RoutedAccess } from '../node/command.js';
import type { FailPoint } from '../faults/fail-point.js';
import type { UserWriteBlock } from '../node/user-write-block.js';

/** How a shard is set up. */
export interface ShardNodeOptions {
  /** Shard id, e.g. `shard0`. */
  name: string;
  clock: ClusterClock;
  /** What it shares with the other nodes. By default its own, of the release of the corpus. */
  deployment?: Deployment;
  /** Its release. By default the initial one of its deployment. */
  release?: NodeRelease;
  setName: string;
  host: string;
  port: number;
  /** Limit of the oplog in bytes; older entries are truncated. Default 256 MB. */
  oplogBytesMax?: number;
  /**
   * Seconds of history that snapshot reads reach back. Default 300, the server's `minSnapshotHistoryWindowInSeconds`.
   */
  snapshotWindowSeconds?: number;
  /** Milliseconds between no-ops on an idle shard. Default 1,000; 0 writes none. */
  noopIntervalMs?: number;
  /** Wall clock in milliseconds, for tests. */
  now?: () => number;
}

const OPLOG_BYTES_MAX = 256 * 1024 * 1024;
const SNAPSHOT_WINDOW_SECONDS = 300;

/** The whole state of a shard, on which its commands work. */
export class ShardState {
  readonly deployment: Deployment;
  readonly release: NodeRelease;
  readonly now: () => number;
  readonly history: History;
  readonly catalog: Catalog;
  readonly oplog: Oplog;
  readonly sessions: Sessions;
  readonly cursors: Cursors;
  readonly writer: DocumentWriter;
  readonly interruption = new Interruption();
  readonly lock: GlobalLock;
  readonly exclusive: ExclusiveUse;
  readonly builds = new RunningBuilds(this.interruption);
  readonly coordinators = new Coordinators();
  readonly moves = new DonatedMoves();
  /** Changes of several shards that hang. */
  readonly led = new ShownCoordinators();
  readonly openBuckets: OpenBuckets = new OpenBuckets(this);
  readonly ttl: TtlMonitor;
  /** Which documents a shard of a cluster owns now. Undefined where it owns all. */
  ownership: () => RoutedAccess | undefined = () => undefined;
  /** Fail point of hanging commits. Null where there are no fail points. */
  commitPoint: FailPoint | null = null;
  /** The transaction whose statement works on it, see `within`. */
  readonly transaction: RunningTransaction | undefined;

  constructor(readonly options: ShardNodeOptions) {
    this.deployment = options.deployment ?? new Deployment(defaultVersion);
    this.release = options.release ?? new NodeRelease(this.deployment);
    this.now = options.now ?? Date.now;
    this.history = new History(options.snapshotWindowSeconds ?? SNAPSHOT_WINDOW_SECONDS, this.now);
    this.catalog = new Catalog(this.history);
    this.oplog = new Oplog(options.clock, options.oplogBytesMax ?? OPLOG_BYTES_MAX, this.now);
    this.sessions = new Sessions(this.oplog, this.now, this.version);
    this.lock = new GlobalLock(this.sessions, this.interruption);
    this.exclusive = new ExclusiveUse(this.sessions);
    this.cursors = new Cursors(this.now);
    this.writer = new DocumentWriter(this.oplog, this.writeBlock, () => this.version);
    this.ttl = new TtlMonitor(this);
  }

  /** The same state, as a statement of a transaction sees it. */
  within(transaction: RunningTransaction): ShardState {
    const seen: ShardState = Object.create(ShardState.prototype) as ShardState;
    return Object.assign(seen, this, { catalog: this.catalog.within(transaction), transaction });
  }

  /** The release of its program. */
  get version(): ServerVersion {
    return this.release.binary;
  }

  /** The release whose features it has. */
  get features(): ServerVersion {
    return this.release.features;
  }

  get writeBlock(): UserWriteBlock {
    return this.deployment.writeBlock;
  }

  /** The machine's name with the node's port, as statistics name the node. */
  get diagnosticHost(): string {
    return `${hostname()}:${this.options.port}`;
  }
}
