import { onTestFinished } from 'vitest';
import {
  NotificationReceiver,
  receiverSecret,
} from '../packages/coordinator/test/integration/notification-receiver.js';

/** A receiver of notifications until the test ends, the setting that names it, and the events that came. */
export async function startReceiver() {
  const receiver = await NotificationReceiver.start();
  onTestFinished(() => receiver.close());
  const notify = { receivers: [{ name: 'pager', url: receiver.url, secret: receiverSecret }] };
  const events = (): string[] => receiver.arrivals.map(({ event }) => event);
  return { receiver, notify, events };
}
