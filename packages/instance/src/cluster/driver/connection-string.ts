import { resolveSrv, resolveTxt } from 'node:dns/promises';
import { MongoClient, MongoNetworkError } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

const defaultPort = 27017;
const pattern = /^(mongodb(?:\+srv)?):\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/s;
/** What a DNS TXT record may set (the driver's specification of SRV strings). */
const txtOptions = new Set(['authSource', 'replicaSet', 'loadBalanced']);

/** A connection string's parts, still percent-encoded. The text holds secrets and is never logged or shown. */
export interface ConnectionParts {
  srv: boolean;
  /** `user` or `user:password`, empty for none. */
  userinfo: string;
  /** A list of `host:port`; for SRV the one name. */
  hosts: string[];
  database: string;
  options: URLSearchParams;
}

/** @throws ConvoyError `invalidConfiguration`, without the text */
export function parseConnectionString(text: string): ConnectionParts {
  const match = pattern.exec(text);
  if (match === null)
    throw new ConvoyError(
      'invalidConfiguration',
      'A connection string must have the form mongodb://… or mongodb+srv://….',
    );
  const [, scheme, userinfo = '', hosts = '', database = '', options = ''] = match;
  return {
    srv: scheme === 'mongodb+srv',
    userinfo,
    hosts: hosts.split(','),
    database,
    options: new URLSearchParams(options),
  };
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

/** The user of a connection string, decoded; null if it has none (client certificates, no authentication). */
export function userOf(text: string): string | null {
  const { userinfo } = parseConnectionString(text);
  const user = userinfo.split(':', 1)[0] ?? '';
  return user === '' ? null : decodeURIComponent(user);
}

/** `host:port` of the first seed, or the SRV name: shown in `directionMapping`. */
export function displayHost(text: string): string {
  const { srv, hosts } = parseConnectionString(text);
  const first = decodeURIComponent(hosts[0] ?? '');
  return srv || /:\d+$/.test(first) || first.endsWith('.sock') ? first : `${first}:${defaultPort}`;
}

/**
 * The parts with resolved seeds: looks an SRV name up, and applies its TXT options and TLS.
 * @throws MongoNetworkError caused by the resolver's error if the lookup fails, as for a host name
 */
export async function resolveSeeds(parts: ConnectionParts): Promise<ConnectionParts> {
  if (!parts.srv) return parts;
  const [name = ''] = parts.hosts;
  const service = parts.options.get('srvServiceName') ?? 'mongodb';
  const records = await resolveSrv(`_${service}._tcp.${name}`).catch((cause: unknown) => {
    throw new MongoNetworkError('The SRV records cannot be looked up.', { cause: cause as Error });
  });
  const options = new URLSearchParams(parts.options);
  for (const key of ['srvServiceName', 'srvMaxHosts']) options.delete(key);
  for (const [key, value] of await txtSettings(name)) if (!options.has(key)) options.set(key, value);
  if (!options.has('tls') && !options.has('ssl')) options.set('tls', 'true');
  return { ...parts, srv: false, hosts: records.map((record) => `${record.name}:${record.port}`), options };
}

async function txtSettings(name: string): Promise<[string, string][]> {
  try {
    const [record = []] = await resolveTxt(name);
    return [...new URLSearchParams(record.join(''))].filter(([key]) => txtOptions.has(key));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENODATA' || code === 'ENOTFOUND') return [];
    throw error;
  }
}

/** What to change in a connection string for one node or one shard of the cluster. */
export interface Redirection {
  hosts: string[];
  /** Null removes the option. */
  options: Record<string, string | null>;
  credentials?: { user: string; password: string; authSource: string };
}

/** The connection string of another node of the same cluster: same TLS, credentials and settings. */
export function redirected(parts: ConnectionParts, redirection: Redirection): string {
  const options = new URLSearchParams(parts.options);
  const { credentials } = redirection;
  const changes =
    credentials === undefined
      ? redirection.options
      : { ...redirection.options, authSource: credentials.authSource, authMechanism: null };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) options.delete(key);
    else options.set(key, value);
  }
  const userinfo =
    credentials === undefined
      ? parts.userinfo
      : `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.password)}`;
  const login = userinfo === '' ? '' : `${userinfo}@`;
  const query = options.size === 0 ? '' : `?${options.toString().replaceAll('+', '%20')}`;
  return `mongodb://${login}${redirection.hosts.join(',')}/${parts.database}${query}`;
}
