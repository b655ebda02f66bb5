import { readNamedFile } from '@convoy/api/configuration/named-file';
import type { NotifiedEvent, NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { Secret } from '@convoy/api/configuration/secret';

/** A receiver of notifications, with the content of its file. */
export interface Receiver {
  readonly name: string;
  readonly url: Secret;
  readonly secret: Secret;
  /** Certificates in PEM that it is trusted by, in place of the usual ones. */
  readonly ca: Buffer | undefined;
  readonly events: readonly NotifiedEvent[];
}

/**
 * Reads the files of all receivers, once.
 * @throws ConvoyError `invalidConfiguration` that names the receiver
 */
export function readReceivers({ receivers }: NotifySettings): readonly Receiver[] {
  return receivers.map(({ caFile, ...receiver }) => ({
    ...receiver,
    ca: caFile === undefined ? undefined : readNamedFile(caFile, `notify: caFile of receiver ${receiver.name}`),
  }));
}
