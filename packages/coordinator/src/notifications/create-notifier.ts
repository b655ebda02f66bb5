import type { Logger } from 'pino';
import type { NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { systemTime } from '@convoy/api/time/time-source';
import { Notifier, type NotifierDependencies } from './notifier.js';
import { MemoryOutbox } from './outbox.js';
import { postNotification, readReceivers } from './post-notification.js';

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

/**
 * The notifier of a lone instance, which is its own fleet.
 * @throws ConvoyError `invalidConfiguration` for a file that cannot be read
 */
export function createLoneNotifier(
  settings: NotifySettings,
  instance: { fleet: Fleet; name: string; logger: Logger; count: NotifierDependencies['count'] },
): Notifier {
  const { fleet, name, logger, count } = instance;
  const snapshot = () => ({
    reports: fleet.reports(),
    leader: fleet.leader(),
    silent_ms: new Map([...fleet.reports().keys()].map((id) => [id, 0])),
    now_ms: systemTime.now_ms(),
    isConnected: true,
  });
  return createNotifier(settings, { fleet: name, logger, count, snapshot, outbox: new MemoryOutbox(systemTime) });
}
