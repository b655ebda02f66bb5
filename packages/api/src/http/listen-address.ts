import { isIP } from 'node:net';

/** Host and port from a Host header or an Origin, in lower case. */
export interface HostAndPort {
  readonly host: string;
  /** `''` for the scheme's default port. */
  readonly port: string;
}

/**
 * Splits `name`, `name:port`, `127.0.0.1:port` or `[::1]:port`; undefined for any other form. Drops a final dot of the
 * name.
 */
export function splitHost(text: string): HostAndPort | undefined {
  const match = /^(?<host>\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+?)\.?(?::(?<port>\d{1,5}))?$/i.exec(text.trim());
  const host = match?.groups?.['host'];
  return host === undefined ? undefined : { host: host.toLowerCase(), port: match?.groups?.['port'] ?? '' };
}

/** Whether an IP address, as a socket reports it, is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '').replace(/^\[|\]$/g, '');
  if (isIP(plain) === 4) return plain.startsWith('127.');
  return plain === '::1';
}

/** Whether only the local host can reach a listen address. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host);
}
