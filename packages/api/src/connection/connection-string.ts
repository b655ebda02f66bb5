import { resolveSrv, resolveTxt } from 'node:dns/promises';
import { ConvoyError } from '../errors/convoy-error.js';

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
 * @param NetworkError what is thrown, caused by the resolver's error, if the lookup fails: the driver's class, as for a
 * host name
 */
export async function resolveSeeds(
  parts: ConnectionParts,
  NetworkError: new (message: string, options: { cause: Error }) => Error,
): Promise<ConnectionParts> {
  if (!parts.srv) return parts;
  const [name = ''] = parts.hosts;
  const service = parts.options.get('srvServiceName') ?? 'mongodb';
  const records = await resolveSrv(`_${service}._tcp.${name}`).catch((cause: unknown) => {
    throw new NetworkError('The SRV records cannot be looked up.', { cause: cause as Error });
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
