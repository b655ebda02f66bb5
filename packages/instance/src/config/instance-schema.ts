import { z } from 'zod';
import { MongoClient } from 'mongodb';
import { parseConnectionString } from '@convoy/api/connection/connection-string';
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

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 2 ** 10,
  mb: 2 ** 20,
  gb: 2 ** 30,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};
const sizePattern = /^(\d{1,15})\s*([a-z]{0,3})$/i;

/** Bytes of a text like `128MB` or `1GiB`; units are powers of 1024. Undefined for any other text. */
export function bytesOf(text: string): number | undefined {
  const match = sizePattern.exec(text.trim());
  const unit = unitBytes[match?.[2]?.toLowerCase() ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}

/** A size in bytes, written as a number or with a unit. */
export function byteSizeSchema(bytesMin: number, bytesMax: number) {
  const bounds = `must be a size from ${bytesMin} to ${bytesMax} bytes, for example 128MB`;
  return z
    .union([z.number(), z.string().transform((text) => bytesOf(text) ?? NaN)], { error: bounds })
    .refine((bytes) => Number.isSafeInteger(bytes) && bytes >= bytesMin && bytes <= bytesMax, bounds);
}

/**
 * Explains what is wrong with a connection string, and quotes nothing of it but the name of an option.
 * @returns null if the driver accepts it
 */
export function connectionStringProblem(text: string): string | null {
  if (!/^mongodb(?:\+srv)?:\/\//.test(text)) return 'must begin with mongodb:// or mongodb+srv://';
  if (!isLoginEncoded(text))
    return (
      'has special characters in user or password: percent-encode them, as %40 for @, %3A for :, %2F for / and %25 ' +
      'for %'
    );
  try {
    const { options } = parseConnectionString(text);
    const unusable = unusableOption(options);
    // The driver knows every other option and checks them without connecting.
    return unusable ?? (new MongoClient(text) instanceof MongoClient ? null : generalProblem);
  } catch (error) {
    const option = /^options? (\w{1,60}) (?:is|are) not supported$/.exec((error as Error).message)?.[1];
    if (option !== undefined) return `has the option ${option}, which the MongoDB driver does not know`;
    const refused = refusedOption(text);
    return refused === null ? generalProblem : `has a value of ${refused} that the MongoDB driver does not accept`;
  }
}

/** Compressors that Convoy has; the driver would need another package for snappy, and says so only once it connects. */
const compressorsKnown = ['none', 'zlib', 'zstd'];

/** What the driver takes, and refuses only once it connects, without the name of the option. */
function unusableOption(options: URLSearchParams): string | null {
  const given = new Map([...options].map(([name, value]) => [name.toLowerCase(), value]));
  const compressors = (given.get('compressors') ?? 'none').split(',');
  if (!compressors.every((one) => compressorsKnown.includes(one)))
    return `has compressors that Convoy does not have: it has ${compressorsKnown.join(', ')}`;
  const [least, most] = [given.get('minpoolsize'), given.get('maxpoolsize')].map(Number);
  // A maximum of 0 is none.
  if (least !== undefined && most !== undefined && most > 0 && least > most)
    return 'has a minPoolSize above its maxPoolSize: lower the one or raise the other';
  return null;
}

/** The option without which the driver accepts a connection string; null if it is not for one option alone. */
function refusedOption(text: string): string | null {
  const parts = parseConnectionString(text);
  for (const name of new Set(parts.options.keys())) {
    const options = new URLSearchParams(parts.options);
    options.delete(name);
    const [head = ''] = text.split('?', 1);
    try {
      new MongoClient(options.size === 0 ? head : `${head}?${options.toString()}`);
      return /^\w{1,60}$/.test(name) ? name : null;
    } catch {
      // Not this one.
    }
  }
  return null;
}

const generalProblem = 'must be a connection string that the MongoDB driver accepts: mongodb://… or mongodb+srv://…';

/** Whether everything before the last @ can be a login; the driver accepts that @ only after a login. */
function isLoginEncoded(text: string): boolean {
  const login = text.slice(text.indexOf('://') + '://'.length, Math.max(0, text.lastIndexOf('@')));
  return /^(?:[^:@/?#[\]%]|%[0-9a-f]{2})*(?::(?:[^:@/?#[\]%]|%[0-9a-f]{2})*)?$/i.test(login);
}
