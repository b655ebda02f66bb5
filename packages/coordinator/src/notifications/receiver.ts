import { readFileSync } from 'node:fs';
import type { NotifiedEvent, NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { Secret } from '@convoy/api/configuration/secret';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

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
    ca: caFile === undefined ? undefined : readCertificates(caFile, receiver.name),
  }));
}

function readCertificates(path: string, name: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new ConvoyError(
      'invalidConfiguration',
      `notify: caFile of receiver ${name}: the file cannot be read. Check its path and permissions.`,
      { cause },
    );
  }
}
