import type { Logger } from 'pino';
import type { NotifySettings } from '@convoy/api/configuration/notify-settings';
import { systemTime } from '@convoy/api/time/time-source';
import { Notifier, type NotifierDependencies } from './notifier.js';
import { postNotification } from './post-notification.js';
import { readReceivers } from './receiver.js';

/** What differs between the senders of a fleet and of a lone instance. */
interface Sender extends Pick<NotifierDependencies, 'fleet' | 'outbox' | 'snapshot' | 'count'> {
  readonly logger: Logger;
}

/**
 * Creates a notifier that sends over HTTP; it does not run yet.
 * @throws ConvoyError `invalidConfiguration` for a file that cannot be read
 */
export function createNotifier(settings: NotifySettings, sender: Sender): Notifier {
  return new Notifier({
    ...sender,
    settings,
    receivers: readReceivers(settings),
    post: postNotification,
    clock: systemTime,
  });
}
