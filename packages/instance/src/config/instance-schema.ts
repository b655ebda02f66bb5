import { z } from 'zod';
import { connectionStringProblem } from '../cluster/driver/connection-string.js';
import { byteSizeSchema } from './byte-size.js';
import { portSchema, processSettings, textSchema as text } from '@convoy/api/configuration/process-settings';
import { Secret } from '@convoy/api/configuration/secret';

/** Where an instance listens by default, as mongosync does. */
const INSTANCE_PORT_DEFAULT = 27_182;

const mebibyte = 2 ** 20;
/** One document, event or reply may have 16 MB, and each cluster's side buffers some at a time. */
const memoryBytesMin = 64 * mebibyte;
const memoryBytesDefault = 128 * mebibyte;
const memoryBytesLimit = 64 * 1024 * mebibyte;
/** More in flight than this only lengthens the servers' queues. */
const parallelMax = 64;

const readPreferences = ['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'] as const;

const parallel = z.int().min(1).max(parallelMax);

/** Every reader of the settings of an instance takes the file and the flags. */
const missing = 'is required: set it in the file of --config, or by its flag';

const connectionString = z
  .string({ error: ({ input }) => (input === undefined ? missing : undefined) })
  .superRefine((value, deps) => {
    const problem = connectionStringProblem(value);
    if (problem !== null) deps.addIssue({ code: 'custom', message: problem });
  })
  .transform((value) => new Secret(value));

const shardCredentials = z.strictObject({
  user: text,
  password: text.transform((value) => new Secret(value)),
  authSource: text.default('admin'),
});

/** All settings of an instance; messages never repeat a value. */
export const instanceSchema = z.strictObject({
  cluster0: connectionString,
  cluster1: connectionString,
  /** Shard of the source that this instance syncs; a lone instance has none. */
  id: z
    .string()
    .regex(/^[^\s:/]{1,64}$/, 'must be 1 to 64 characters without spaces, colons and slashes')
    .optional(),
  /** A URL or an object, as in the coordinator's settings; whoever connects checks it. */
  redis: z.union([text.transform((value) => new Secret(value)), z.record(z.string(), z.unknown())]).optional(),
  fleet: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
    .default('default'),
  port: portSchema.default(INSTANCE_PORT_DEFAULT),
  ...processSettings,
  syncUser: text.optional(),
  /** Credentials for the shards themselves, by cluster. */
  shards: z.strictObject({ cluster0: shardCredentials.optional(), cluster1: shardCredentials.optional() }).default({}),
  /** How the instance reads the source: directly from its shards, through its router, or as a probe finds possible. */
  sourceAccess: z.enum(['auto', 'direct', 'router']).default('auto'),
  readPreference: z.enum(readPreferences).default('primary'),
  memoryBytesMax: byteSizeSchema(memoryBytesMin, memoryBytesLimit).default(memoryBytesDefault),
  /** Limits: within them, the copy measures how many reads and writes in flight are best. */
  readers: parallel.default(4),
  writers: parallel.default(4),
  applyWorkers: parallel.default(4),
  /** After this time a reader closes its partition and continues with the rest as a new one. */
  partition_seconds: z.number().min(1).max(600).default(20),
  checkpoint_ms: z.int().min(100).max(60_000).default(1_000),
  /**
   * Interval between comparisons of indexes, options and views; from 6.0 on, a DDL event of the source also causes one.
   */
  catalogInterval_seconds: z.number().min(1).max(3_600).default(30),
  retry_minutes: z
    .number()
    .min(0)
    .max(24 * 60)
    .default(30),
  /** Maximum bytes read from the source per second; no limit when left out. */
  loadRateBytesPerSecond: byteSizeSchema(64 * 1024, 2 ** 40).optional(),
});

/** The settings of an instance process, frozen. Its secrets do not show when it is logged. */
export type InstanceConfig = Readonly<z.output<typeof instanceSchema>>;

export type Verbosity = InstanceConfig['verbosity'];
