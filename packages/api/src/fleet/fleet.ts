import { z } from 'zod';
import { type CommandName, commandNames } from '../contract/commands.js';
import { mismatchSchema } from '../contract/mismatch.js';
import { migrationStates, progressSchema, type Warning } from '../contract/progress.js';
import { isErrorName } from '../errors/table.js';
import { instanceStatsSchema } from './instance-stats.js';
import type { QuestionTopic, StartQuestion } from './start-question.js';
import type { DetailTopic, PublishedDetails } from './published-details.js';

const identitySchema = z.object({
  id: z.string().min(1),
  /** The contract's `syncID`: stable over restarts. */
  syncID: z.string(),
  /** New for every process. It distinguishes two processes with the same identity. */
  incarnation: z.string().min(1),
  /** Release of the software, for example `2.0.0`. */
  release: z.string(),
});
/**
 * Identity of an instance. `id` comes from its configuration (a source shard's name), or is `single` for a lone
 * instance.
 */
export type InstanceIdentity = z.output<typeof identitySchema>;

const failureSchema = z.object({ error: z.string().refine(isErrorName), errorDescription: z.string() });
/** A failed command or migration in the contract's terms. */
export type Failure = z.output<typeof failureSchema>;

export const reportSchema = z.object({
  identity: identitySchema,
  state: z.enum(migrationStates),
  failure: failureSchema.nullable(),
  /** Its own part of the fleet-wide `canCommit` and `canWrite`. */
  ready: z.object({ canCommit: z.boolean(), canWrite: z.boolean() }),
  /**
   * Ids of the instances that the migration needs, one per source shard; empty before the start. In a large fleet only
   * some reports name them.
   */
  expectedIds: z.array(z.string()),
  /** Ids of the configured clusters; all instances of a fleet must agree. Null until both were reached. */
  clusterIds: z.object({ cluster0: z.string(), cluster1: z.string() }).nullable(),
  /** Digest of this instance's start options; null before the start. */
  optionsDigest: z.string().nullable(),
  /** The phase of the migration, as its record has it, or null before the start. */
  step: z.string().nullable(),
  /** Current rates: events applied and bytes copied per second. */
  rates: z.object({ copyBytesPerSecond: z.number().nonnegative(), eventsPerSecond: z.number().nonnegative() }),
  /** This instance's reply to `GET /api/v1/progress`, without what blocks a commit on other instances. */
  progress: progressSchema,
  /**
   * Seconds until an oplog drops changes that are not applied; null while unknown, absent where no oplog is readable or
   * needed. The progress has it as a text.
   */
  oplogRemaining_seconds: z.number().nonnegative().nullable().exactOptional(),
  /** The first mismatches of the embedded verifier in the whole fleet; absent without any. */
  mismatches: z.array(mismatchSchema).exactOptional(),
  /** Why it cannot take a recorded command of the whole fleet; absent when there is none. */
  refused: failureSchema.extend({ command: z.enum(commandNames) }).exactOptional(),
  /** Absent until its part of a migration runs. */
  stats: instanceStatsSchema.optional(),
});
/** An instance's report to the others. Each report replaces the previous one. */
export type InstanceReport = z.output<typeof reportSchema>;

/** A report as received by another process. */
export interface SeenReport {
  report: InstanceReport;
  /** Milliseconds since 1970 by the reporter's clock. */
  reportedAt_ms: number;
  /** False when the instance has been silent for longer than its lease; the report is then the last known one. */
  fresh: boolean;
}

/** The leader of a fleet. */
export interface Leader {
  id: string;
  syncID: string;
}

/**
 * Topics of a fleet's notifications. A notification says where to look, never what is there. `report` and
 * `ddlWatermark` may come several times a second from every instance; the others are rare.
 */
export type FleetNews = 'report' | 'leader' | 'ddlWatermark' | 'wake';

/** A command for an instance. Repeating it with the same `commandId` has no further effect. */
export interface FleetCommand {
  commandId: string;
  name: CommandName;
  body: unknown;
}

/** Handles a command, whose sender waits for the result only so many milliseconds more. */
export type CommandHandler = (command: FleetCommand, awaited_ms: number) => Promise<CommandResult>;

export const commandResultSchema = z.discriminatedUnion('success', [
  z.object({ success: z.literal(true), waitingFor: z.array(z.string()).exactOptional() }),
  failureSchema.extend({ success: z.literal(false) }),
]);
/**
 * Result of a command. `waitingFor` says that it is recorded for the whole fleet, and which instances have not taken
 * it; absent when it is not recorded.
 */
export type CommandResult = z.output<typeof commandResultSchema>;

/**
 * What an instance needs from its peers. The coordinator package implements it over Redis; a lone instance has one in
 * its process.
 *
 * It only carries liveness and messages. Everything that decides about data is durable in the metadata database, and
 * the fleet only wakes processes that wait for it. Its state may be lost and rebuilt at any time. No message, whoever
 * wrote it, changes what is durable there (docs/decisions/0001).
 */
export interface Fleet {
  /**
   * Takes the identity, starts heartbeats and takes part in elections.
   * @throws ConvoyError `identityTaken` while another process with the same id is alive
   */
  join(identity: InstanceIdentity): Promise<void>;
  /** Publishes a changed report, at most a few dozen times a second; the last one wins. */
  report(report: InstanceReport): void;
  /**
   * Publishes details for readers; they replace earlier ones of the same topic. Best effort: publish again at
   * intervals, since details may be lost.
   */
  publishDetails<Topic extends DetailTopic>(topic: Topic, content: PublishedDetails[Topic]): void;
  /**
   * The last known report of every instance, by id and including its own. Reports of others are about a second late.
   * For an instance that does not lead, their counters, rates and times may be minutes old; what decides is not.
   */
  reports(): ReadonlyMap<string, SeenReport>;
  /** The leader that this process knows, or null. */
  leader(): Leader | null;
  /**
   * True while this process holds the leader's lease. It never decides about data: the epochs in the metadata database
   * do.
   */
  isLeader(): boolean;
  /**
   * Whether another process has this one's id by now, as after a long pause of this one. False where nobody can say;
   * absent where no other process can have it.
   */
  isReplaced?(): Promise<boolean>;
  /**
   * Calls the listener with the topics after every change of reports or leader and after every wake. Returns the
   * function that unsubscribes.
   */
  watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void;
  /** Handles the fleet commands for this instance. Called once, after `join`. */
  serve(handler: CommandHandler): void;
  /** Makes all instances, this one included, read the metadata database again; best effort for the others. */
  wake(): void;
  /**
   * Notifies all instances, this one included, of a later DDL watermark in the record; at most a few dozen times a
   * second.
   */
  announceDdlWatermark(): void;
  /**
   * What a coordinator wants to know before a start, the latest question of the topic; null without one. Absent where
   * nobody asks.
   * @throws ConvoyError `redisUnavailable`
   */
  question?(topic: QuestionTopic): Promise<StartQuestion | null>;
  /** What is wrong between this process and its peers, for its own progress; absent where it needs none. */
  warnings?(): Warning[];
  /** Number of messages without a valid signature, by reason; absent where no message is signed. */
  refusedMessages?(): ReadonlyMap<string, number>;
  /** Releases identity and leadership and closes connections. */
  leave(): Promise<void>;
}
