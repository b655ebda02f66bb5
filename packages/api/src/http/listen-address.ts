import { isIP } from 'node:net';

/** Host and port as they stand in a Host header or after the scheme of an Origin, in lower case. */
export interface HostAndPort {
  readonly host: string;
  /** `''` when none was written, which means the scheme's own. */
  readonly port: string;
}

/**
 * Splits `name`, `name:port`, `127.0.0.1:port` or `[::1]:port`; undefined when it is none of these.
 * A final dot of the name is dropped.
 */
export function splitHost(text: string): HostAndPort | undefined {
  const match = /^(?<host>\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+?)\.?(?::(?<port>\d{1,5}))?$/i.exec(text.trim());
  const host = match?.groups?.['host'];
  return host === undefined ? undefined : { host: host.toLowerCase(), port: match?.groups?.['port'] ?? '' };
}

/** Whether an IP address, as a socket gives it, is of the local host alone. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '').replace(/^\[|\]$/g, '');
  if (isIP(plain) === 4) return plain.startsWith('127.');
  return plain === '::1';
}

/** Whether a name or address to listen on is reached from the local host alone. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host);
}
