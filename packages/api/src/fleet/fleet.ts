import type { CommandName } from '../contract/commands.js';
import type { Mismatch } from '../contract/mismatch.js';
import type { MigrationState, Progress } from '../contract/progress.js';
import type { ErrorName } from '../errors/table.js';
import type { InstanceStats } from './instance-stats.js';
import type { DetailTopic, PublishedDetails } from './published-details.js';

/** Who an instance is. `id` comes from its configuration (a source shard's name), or is `single` for a lone instance. */
export interface InstanceIdentity {
  id: string;
  /** The contract's `syncID`: stable over restarts. */
  syncID: string;
  /** New for every process, so that two processes with one identity can be told apart. */
  incarnation: string;
  /** Release of the software, for example `2.0.0`. */
  release: string;
}

/** A failed command or migration, in the contract's words. */
export interface Failure {
  error: ErrorName;
  errorDescription: string;
}

/** What an instance tells the others; each report replaces the one before. */
export interface InstanceReport {
  identity: InstanceIdentity;
  state: MigrationState;
  failure: Failure | null;
  /** Its own part of the fleet-wide `canCommit` and `canWrite`. */
  ready: { canCommit: boolean; canWrite: boolean };
  /** Ids of the instances that the migration asks for, one for each shard of the source; empty until it was started. */
  expectedIds: string[];
  /** The configured clusters by their own ids: instances of one fleet must agree. Null until both were reached. */
  clusterIds: { cluster0: string; cluster1: string } | null;
  /** Digest of the options that this instance was started with; null before the start. */
  optionsDigest: string | null;
  /** Name of the last durable step this instance has reached, or null before the start. */
  step: string | null;
  /** Events per second applied and bytes per second copied over the last seconds. */
  rates: { copyBytesPerSecond: number; eventsPerSecond: number };
  /** What this instance answers to `GET /api/v1/progress`. */
  progress: Progress;
  /** The first differences that the embedded verifier has found anywhere in the fleet; absent for none. */
  mismatches?: Mismatch[];
  /** Left out until its part of a migration runs. */
  stats?: InstanceStats | undefined;
}

/** A report as another process sees it. */
export interface SeenReport {
  report: InstanceReport;
  /** Milliseconds since 1970, by the clock of the reporter. */
  reportedAt_ms: number;
  /** False when the instance has been silent for longer than its lease: figures are the last known ones. */
  fresh: boolean;
}

/** The elected coordinator instance. */
export interface Leader {
  id: string;
  syncID: string;
}

/**
 * What can be new in a fleet: where to look, never what is to be seen. Reports come several times a second from every
 * instance, and so may the horizon; the others come only when there is a reason.
 */
export type FleetNews = 'report' | 'leader' | 'ddlWatermark' | 'wake';

/** A command on its way to an instance. Repeating one with the same `commandId` has no further effect. */
export interface FleetCommand {
  commandId: string;
  name: CommandName;
  body: unknown;
}

export type CommandResult = { success: true } | ({ success: false } & Failure);

/**
 * What an instance needs from its peers. Implemented over Redis by the coordinator package and in process for a lone instance.
 *
 * It carries liveness and messages only: everything that decides about data is durable in the metadata database,
 * and the fleet only wakes those who wait for it. Losing and rebuilding it at any time loses nothing, and no message,
 * whoever has written it, changes what is durable there (docs/decisions/0070).
 */
export interface Fleet {
  /**
   * Takes the identity, begins heartbeats and takes part in elections.
   * @throws ConvoyError `identityTaken` while another process with the same id lives
   */
  join(identity: InstanceIdentity): Promise<void>;
  /** Publishes a report when it has changed, at most a few dozen times a second; the last one wins. */
  report(report: InstanceReport): void;
  /**
   * Leaves something for those who ask for it; what was left before under the same topic is replaced. Best effort: post
   * again at intervals, since it may be lost.
   */
  publishDetails<Topic extends DetailTopic>(topic: Topic, content: PublishedDetails[Topic]): void;
  /** The last known report of every instance of the fleet, by id, the own one included; those of the others are about a second late. */
  reports(): ReadonlyMap<string, SeenReport>;
  /** The elected coordinator instance as far as this process knows, or null. */
  leader(): Leader | null;
  /** True while this process holds the leader's lease. Never decides about data: epochs in the metadata database do. */
  isLeader(): boolean;
  /** Calls the listener after every change of reports or leader and after every nudge, with what it was. Returns the function that ends it. */
  watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void;
  /** Handles the commands that are sent to this instance through the fleet. Called once, after join. */
  serve(handler: (command: FleetCommand) => Promise<CommandResult>): void;
  /** Tells all instances, this one included, to look at the metadata database anew; best effort for the others. */
  wake(): void;
  /** Tells all instances, this one included, that the record has a later horizon; as `wake`, a few dozen times a second. */
  announceDdlWatermark(): void;
  /** Gives back identity and leadership and closes connections. */
  leave(): Promise<void>;
}
