import { Secret } from '@convoy/api/configuration/secret';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { isBeyondLocalHost, redisExposure } from '@convoy/coordinator/redis/redis-exposure';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';
import type { Finding } from '../progress-view/preflight-lines.js';

/**
 * What `convoy check` finds about a fleet's Redis by its settings alone: nothing connects. None for a lone instance.
 * @throws ConvoyError `invalidConfiguration` for settings that no process would accept
 */
export function redisFindings({ redis, fleetSecret }: Pick<InstanceConfig, 'redis' | 'fleetSecret'>): Finding[] {
  if (redis === undefined) return [];
  const settings = parseRedisSettings(redis instanceof Secret ? redis.reveal() : redis);
  const exposed = redisExposure(settings)[0]?.description;
  const isSigned = fleetSecret !== undefined;
  return [
    finding('redis', exposed, 'Redis has a password and TLS, or is on the local host. Whether it runs is not checked.'),
    finding(
      'fleetSecret',
      isSigned || !isBeyondLocalHost(settings) ? undefined : unsigned,
      isSigned ? 'Messages in Redis are signed.' : 'Messages in Redis are not signed; Redis is on the local host.',
    ),
  ];
}

const unsigned =
  'Messages in Redis are not signed: whoever writes to Redis can command the fleet without a token. ' +
  'Set fleetSecret, the same in all processes.';

function finding(check: string, warning: string | undefined, passed: string): Finding {
  return { check, result: warning === undefined ? 'passed' : 'warning', error: null, description: warning ?? passed };
}
