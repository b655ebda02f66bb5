import { z } from 'zod';
import { Secret } from '@convoy/api/configuration/secret';
import type { RedisSettings, RedisTopology } from '../redis/redis-settings.js';
import { parseConfig } from '@convoy/api/configuration/config-problems';
import { messageOfMissing } from '@convoy/api/contract/invalid-request';

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

const secret = z
  .string()
  .min(1, 'must not be empty')
  .transform((text) => new Secret(text));
const host = z.string().min(1, 'must not be empty');
const port = z.int().min(1).max(65_535);
const redisAddress = z.strictObject({ host, port: port.default(REDIS_PORT) });
const sentinelAddress = z.strictObject({ host, port: port.default(SENTINEL_PORT) });

const tlsSchema = z.strictObject({
  caFile: z.string().min(1).optional(),
  certFile: z.string().min(1).optional(),
  keyFile: z.string().min(1).optional(),
  servername: z.string().min(1).optional(),
  allowInvalidCertificates: z.boolean().default(false),
});

const objectSchema = z.strictObject({
  url: z.string().optional(),
  host: host.optional(),
  port: port.optional(),
  sentinels: z.array(sentinelAddress).min(1).optional(),
  primaryName: z.string().min(1).optional(),
  sentinelUsername: secret.optional(),
  sentinelPassword: secret.optional(),
  nodes: z.array(redisAddress).min(1).optional(),
  username: secret.optional(),
  password: secret.optional(),
  database: z.int().min(0).max(10_000).optional(),
  tls: z.union([z.boolean(), tlsSchema]).optional(),
  keyPrefix: z
    .string()
    .max(100)
    .regex(/^[^{}]*$/, 'must not contain braces')
    .default(''),
});

type RedisObject = z.output<typeof objectSchema>;

/** Converts a URL to the object form; null when it is not a Redis URL. */
function fieldsOfUrl(text: string): Partial<RedisObject> | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') return null;
  const database = /^\/?(?<number>\d{0,5})$/.exec(url.pathname)?.groups?.['number'];
  if (database === undefined || url.search !== '' || url.hash !== '') return null;
  try {
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? REDIS_PORT : Number(url.port),
      database: Number(database),
      ...(url.username === '' ? {} : { username: new Secret(decodeURIComponent(url.username)) }),
      ...(url.password === '' ? {} : { password: new Secret(decodeURIComponent(url.password)) }),
      ...(url.protocol === 'rediss:' ? { tls: true } : {}),
    };
  } catch {
    return null;
  }
}

function topologyOf(fields: RedisObject, problem: (path: string, message: string) => void): RedisTopology {
  const ways = (['host', 'sentinels', 'nodes'] as const).filter((way) => fields[way] !== undefined);
  if (ways.length !== 1) problem('', 'needs exactly one of url, host, sentinels and nodes');
  if (fields.sentinels !== undefined) {
    if (fields.primaryName === undefined) problem('primaryName', 'is required with sentinels');
    const { sentinels, primaryName = '', sentinelUsername, sentinelPassword } = fields;
    return { kind: 'sentinel', sentinels, primaryName, sentinelUsername, sentinelPassword };
  }
  for (const field of ['primaryName', 'sentinelUsername', 'sentinelPassword'] as const) {
    if (fields[field] !== undefined) problem(field, 'is only for sentinels');
  }
  if (fields.nodes !== undefined) {
    if ((fields.database ?? 0) !== 0) problem('database', 'a Redis Cluster has only database 0');
    return { kind: 'cluster', nodes: fields.nodes };
  }
  return { kind: 'single', address: { host: fields.host ?? '', port: fields.port ?? REDIS_PORT } };
}

function settingsOf(fields: RedisObject, problem: (path: string, message: string) => void): RedisSettings {
  const tls = fields.tls === true ? { allowInvalidCertificates: false } : fields.tls;
  return {
    topology: topologyOf(fields, problem),
    username: fields.username,
    password: fields.password,
    database: fields.database ?? 0,
    ...(tls === undefined || tls === false ? {} : { tls }),
    keyPrefix: fields.keyPrefix,
  };
}

/** A URL is short for an object with nothing but that URL. */
const writtenSchema = z.union(
  [z.string().transform((url): Record<string, unknown> => ({ url })), z.record(z.string(), z.unknown())],
  {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be a URL or an object'),
  },
);

/** Parses `redis` of a configuration: a URL, or an object with a URL, a host, Sentinels or cluster nodes. */
export const redisSchema = writtenSchema.transform((value, deps): RedisSettings => {
  const problem = (path: string, message: string): void => {
    deps.addIssue({ code: 'custom', message, ...(path === '' ? {} : { path: [path] }) });
  };
  const read = objectSchema.safeParse(value, { error: messageOfMissing });
  if (!read.success) {
    for (const { message, path } of read.error.issues) deps.addIssue({ code: 'custom', message, path });
    return z.NEVER;
  }
  const fromUrl = read.data.url === undefined ? {} : fieldsOfUrl(read.data.url);
  if (fromUrl === null) {
    problem('url', 'must be redis://host:port/database or rediss://…');
    return z.NEVER;
  }
  for (const field of ['host', 'port'] as const) {
    if (read.data.url !== undefined && read.data[field] !== undefined) problem(field, 'is part of url');
  }
  return settingsOf({ ...fromUrl, ...read.data }, problem);
});

/**
 * Parses Redis settings for processes with another kind of configuration.
 * @param value a URL or an object, as in `redis` of the coordinator's configuration
 * @throws ConvoyError `invalidConfiguration` with the path of every invalid value, and no value
 */
export function parseRedisSettings(value: unknown): RedisSettings {
  return parseConfig(z.object({ redis: redisSchema }), { redis: value }).redis;
}
