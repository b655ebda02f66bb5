import { randomUUID } from 'node:crypto';
import { systemTime } from '@convoy/api/time/time-source';
import type { NotifyConfig } from '../config/notify-config.js';
import { testNotification } from './notification.js';
import { postNotification, type Outcome } from './post-notification.js';
import { readReceivers } from './receiver.js';

/** How a test notification went. */
export interface TestResult {
  readonly receiver: string;
  readonly accepted: boolean;
  /** Status of the reply, or code of the failure. */
  readonly reason: string;
}

/**
 * Sends one test notification to each receiver, once.
 * @throws ConvoyError `invalidConfiguration` for a file that cannot be read; the reason of `signal`, once aborted
 */
export function sendTest({ notify, fleet }: NotifyConfig, signal: AbortSignal): Promise<TestResult[]> {
  const now_ms = systemTime.now_ms();
  const notification = testNotification({ fleet, settings: notify }, randomUUID(), now_ms);
  return Promise.all(
    readReceivers(notify).map(async (receiver): Promise<TestResult> => {
      const { result, reason }: Outcome = await postNotification(receiver, notification, now_ms, signal);
      return { receiver: receiver.name, accepted: result === 'sent', reason };
    }),
  );
}
