import { z } from 'zod';
import { commitBlockerSchema } from './commit-blocker.js';
import { currentStepSchema } from './current-step.js';
import { handOverSchema } from './hand-over.js';
import { HOT_DOCUMENTS_MAX, hotDocumentSchema } from './hot-documents.js';
import { verificationPhases } from './verification.js';
import { waitingSchema } from './waiting.js';

/** The states of an instance, from the least to the most advanced; PAUSED and REVERSING rank with RUNNING. */
export const migrationStates = [
  'INITIALIZING',
  'IDLE',
  'RUNNING',
  'PAUSED',
  'COMMITTING',
  'COMMITTED',
  'REVERSING',
] as const;

/** State of an instance or a fleet. */
export type MigrationState = (typeof migrationStates)[number];

const count = z.int().nonnegative();
const nullableCount = count.nullable();

export const verificationSideSchema = z
  .object({
    estimatedDocumentCount: nullableCount,
    hashedDocumentCount: nullableCount,
    lagTimeSeconds: nullableCount,
    phase: z.enum(verificationPhases).nullable(),
    scannedCollectionCount: nullableCount,
    totalCollectionCount: nullableCount,
  })
  .describe('Progress of the embedded verifier on one cluster.');

const clusterLinkSchema = z.object({
  pingLatencyMs: z.number().nonnegative().nullable().describe('Round-trip time of a ping in milliseconds.'),
});

/** A condition for the operator's attention; the migration continues. */
export const warningSchema = z.object({
  name: z.string().describe('Stable name, for example waitingForInstances.'),
  description: z.string(),
});

/** Maximum namespaces that `sourceWrites` names. */
const SOURCE_WRITES_NAMED_MAX = 10;

const sourceWritesSchema = z.object({
  windowSeconds: count.describe('The writes of this many last seconds count.'),
  writes: count.describe('Changes of documents that the migration includes, by anybody but Convoy.'),
  namespaces: z
    .array(z.object({ namespace: z.string(), writes: count }))
    .max(SOURCE_WRITES_NAMED_MAX)
    .describe('Those with most writes.'),
  lastWriteAt: z.string().nullable().describe('Time of the latest known write, ISO 8601.'),
});

type WrittenNamespaces = z.output<typeof sourceWritesSchema>['namespaces'];

/** The namespaces with most writes, from those of several shards. */
export function mostWritten(all: WrittenNamespaces): WrittenNamespaces {
  const sums = new Map<string, number>();
  for (const { namespace, writes } of all) sums.set(namespace, (sums.get(namespace) ?? 0) + writes);
  return [...sums]
    .map(([namespace, writes]) => ({ namespace, writes }))
    .sort((a, b) => b.writes - a.writes || (a.namespace < b.namespace ? -1 : 1))
    .slice(0, SOURCE_WRITES_NAMED_MAX);
}

/** The `progress` document. In IDLE every field but `state` and `canCommit` is null. */
export const progressSchema = z.object({
  state: z.enum(migrationStates),
  canCommit: z.boolean(),
  canWrite: z.boolean().nullable(),
  info: z.string().nullable().describe('The phase as text.'),
  lagTimeSeconds: nullableCount.describe('Null when paused, 0 once committed.'),
  totalEventsApplied: nullableCount,
  collectionCopy: z.object({ estimatedTotalBytes: count, estimatedCopiedBytes: count }).nullable(),
  directionMapping: z.object({ Source: z.string(), Destination: z.string() }).nullable(),
  syncID: z.string().nullable(),
  coordinatorID: z.string().nullable(),
  verification: z.object({ source: verificationSideSchema, destination: verificationSideSchema }).nullable(),
  ceaStage: z.string().nullable().describe('Stage of the change event application.'),
  lag: z
    .object({ overallLagSeconds: nullableCount, crudLagSeconds: nullableCount, ddlLagSeconds: nullableCount })
    .nullable(),
  indexBuilding: z
    .object({ indexesBuilt: count, totalIndexesToBuild: count, collectionsFinished: count, collectionsTotal: count })
    .nullable(),
  source: clusterLinkSchema.nullable(),
  destination: clusterLinkSchema.nullable(),
  estimatedOplogTimeRemaining: z.string().nullable().describe('A text, for example "12 hours".'),
  estimatedSecondsToCEACatchup: nullableCount,
  warnings: z.array(warningSchema).nullable(),
  commitBlockers: z
    .array(commitBlockerSchema)
    .nullable()
    .describe(
      'Reasons why canCommit is false; null in IDLE, COMMITTING and COMMITTED, and in INITIALIZING while no ' +
        'migration is known.',
    ),
  currentStep: currentStepSchema.nullable().describe('What a commit or a reverse does now; null while there is none.'),
  sourceWrites: sourceWritesSchema
    .nullable()
    .describe('Whether anybody still writes to the source; null unless its changes are read as they come.'),
  hotDocuments: z
    .array(hotDocumentSchema)
    .max(HOT_DOCUMENTS_MAX)
    .nullable()
    .describe('Documents that change more often than their apply worker sends writes, the fastest first.'),
  handOver: handOverSchema
    .nullable()
    .describe('Where consumers of change streams go over to the destination; null until the commit has opened it.'),
  startedAt: z.string().nullable().describe('When the migration started, ISO 8601.'),
  options: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('The recorded options: the body of the start with defaults. Null above 8 KiB.'),
  metadataRemoved: z
    .boolean()
    .nullable()
    .describe(
      'Whether the metadata of the committed migration is gone, as after convoy cleanup; null unless COMMITTED.',
    ),
  waitingFor: z
    .array(waitingSchema)
    .nullable()
    .describe('Instances that have not taken a command of the whole fleet; null before the start.'),
});

/** The `progress` of one instance in `GET /api/v1/progress`. */
export type Progress = z.output<typeof progressSchema>;
/** Progress of the verifier on one cluster. */
export type VerificationSideProgress = z.output<typeof verificationSideSchema>;
/** One warning of `progress.warnings`. */
export type Warning = z.output<typeof warningSchema>;

/** Values of `info` from the contract; `initializing`, `reversing` and `paused` are Convoy's additions. */
export const progressInfo = {
  initializing: 'initializing',
  reversing: 'reversing',
  paused: 'paused',
  collectionCopy: 'collection copy',
  changeEventApplication: 'change event application',
  waitingForCommit: 'waiting for commit to complete',
  commitCompleted: 'commit completed',
} as const;

/** Values of `ceaStage`, the same as mongosync's. */
export const ceaStages = { collectionCopyDrain: 'collection copy drain', steadyState: 'steady state' } as const;

/** Progress in IDLE: everything is null and `canCommit` is false. */
export function idleProgress(): Progress {
  return {
    state: 'IDLE',
    canCommit: false,
    canWrite: null,
    info: null,
    lagTimeSeconds: null,
    totalEventsApplied: null,
    collectionCopy: null,
    directionMapping: null,
    syncID: null,
    coordinatorID: null,
    verification: null,
    ceaStage: null,
    lag: null,
    indexBuilding: null,
    source: null,
    destination: null,
    estimatedOplogTimeRemaining: null,
    estimatedSecondsToCEACatchup: null,
    warnings: null,
    commitBlockers: null,
    currentStep: null,
    sourceWrites: null,
    hotDocuments: null,
    handOver: null,
    startedAt: null,
    options: null,
    metadataRemoved: null,
    waitingFor: null,
  };
}
