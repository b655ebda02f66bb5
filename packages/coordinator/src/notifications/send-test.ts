import { randomUUID } from 'node:crypto';
import { systemTime } from '@convoy/api/time/time-source';
import type { NotifyConfig } from '../config/notify-config.js';
import { testNotification } from './notification.js';
import { postNotification } from './post-notification.js';
import { readReceivers } from './receiver.js';

/** How one receiver answered a test notification. */
export interface ReceiverResult {
  readonly receiver: string;
  readonly accepted: boolean;
  /** Status of the reply, or code of the failure. */
  readonly reason: string;
}

/**
 * Sends one test notification to each receiver, without retries.
 * @throws ConvoyError `invalidConfiguration` for a receiver's `caFile` that cannot be read, or the signal's reason
 */
export async function sendTestNotification(
  { notify, fleet }: NotifyConfig,
  signal: AbortSignal,
): Promise<ReceiverResult[]> {
  const now_ms = systemTime.now_ms();
  const notification = testNotification({ fleet, settings: notify }, randomUUID(), now_ms);
  return Promise.all(
    readReceivers(notify).map(async (receiver): Promise<ReceiverResult> => {
      const { result, reason } = await postNotification(receiver, notification, now_ms, signal);
      return { receiver: receiver.name, accepted: result === 'sent', reason };
    }),
  );
}
