import { createHmac } from 'node:crypto';
import type { Secret } from '@convoy/api/configuration/secret';
import type { Notification } from './notification.js';

/**
 * Headers of one attempt. The signature is an HMAC-SHA256 of the timestamp, a dot and the body, so that nobody can
 * repeat an old notification under a new time.
 * @param now_ms milliseconds since 1970 of the attempt
 */
export function headersOf(
  { id, event }: Notification,
  body: string,
  secret: Secret,
  now_ms: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now_ms / 1_000));
  const hmac = createHmac('sha256', secret.reveal()).update(`${timestamp}.${body}`).digest('hex');
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'convoy',
    'convoy-event': event,
    'convoy-delivery': id,
    'convoy-timestamp': timestamp,
    'convoy-signature': `sha256=${hmac}`,
  };
}
