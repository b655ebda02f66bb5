import type { Logger } from 'pino';
import type { Warning } from '@convoy/api/contract/progress';
import { isLoopbackHost } from '@convoy/api/http/listen-address';
import type { RedisSettings } from './redis-settings.js';

function hostsOf({ topology }: RedisSettings): string[] {
  if (topology.kind === 'single') return [topology.address.host];
  return (topology.kind === 'sentinel' ? topology.sentinels : topology.nodes).map(({ host }) => host);
}

/** Whether any of the addresses is on another host. */
export function isBeyondLocalHost(settings: RedisSettings): boolean {
  return !hostsOf(settings).every(isLoopbackHost);
}

/** The warning about a Redis beyond the local host without a password or TLS; none for others. */
export function redisExposure(settings: RedisSettings): Warning[] {
  if (!isBeyondLocalHost(settings)) return [];
  const missing = [
    ...(settings.password === undefined ? ['a password'] : []),
    ...(settings.tls === undefined ? ['TLS'] : []),
  ];
  if (missing.length === 0) return [];
  return [
    {
      name: 'redisNotProtected',
      description:
        `Redis is used without ${missing.join(' and ')} beyond the local host. Whoever commands Redis commands the ` +
        'fleet: protect it, and set fleetSecret.',
    },
  ];
}

/** Logs the warning once, at the start. */
export function logRedisExposure(settings: RedisSettings, logger: Logger): void {
  for (const { description } of redisExposure(settings)) logger.warn({ event: 'redisNotProtected' }, description);
}
