import { createHmac, randomUUID } from 'node:crypto';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { readNamedFile } from '@convoy/api/configuration/named-file';
import type { NotifiedEvent, NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { Secret } from '@convoy/api/configuration/secret';
import { systemTime } from '@convoy/api/time/time-source';
import type { NotifyConfig } from '../config/notify-config.js';
import { type Notification, testNotification } from './notification.js';

/** Time limit of one attempt, from the name's resolution to the reply's headers. */
export const ATTEMPT_LIMIT_MS = 10_000;
/** Bytes read of a reply's body, which nobody needs; then the connection is closed. */
const REPLY_BYTES_MAX = 64 * 1024;
/** Statuses that ask for a later attempt: Request Timeout and Too Many Requests; with them all of 500 and above. */
const STATUSES_TO_REPEAT = [408, 429];

/** Result of one attempt; reasons hold statuses and codes, never addresses. */
export type Outcome =
  | { readonly result: 'sent'; readonly reason: string }
  /** `after_ms`: pause that the receiver asks for, if any. */
  | { readonly result: 'retry'; readonly reason: string; readonly after_ms: number }
  /** Another attempt would not succeed. */
  | { readonly result: 'refused'; readonly reason: string };

/** Sends one notification once. */
export type PostNotification = typeof postNotification;

/**
 * Sends one notification once. It follows no redirect, which could send it to somebody else.
 * @param now_ms milliseconds since 1970
 * @param limit_ms time limit, in milliseconds
 * @throws the reason of `signal`, once that is aborted
 */
export async function postNotification(
  receiver: Receiver,
  notification: Notification,
  now_ms: number,
  signal: AbortSignal,
  limit_ms = ATTEMPT_LIMIT_MS,
): Promise<Outcome> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limit_ms)]);
  try {
    return outcomeOf(await exchange(receiver, notification, now_ms, limited), now_ms);
  } catch (error) {
    signal.throwIfAborted();
    return { result: 'retry', reason: codeOf(error), after_ms: 0 };
  }
}

function exchange(
  { url, secret, ca }: Receiver,
  notification: Notification,
  now_ms: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const address = new URL(url.reveal());
  const body = JSON.stringify(notification);
  const options = {
    method: 'POST',
    headers: headersOf(notification, body, secret, now_ms),
    // Notifications are rare; a kept connection would be dead by the next one.
    agent: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const request =
      address.protocol === 'https:'
        ? https.request(address, { ...options, ...(ca === undefined ? {} : { ca }) })
        : http.request(address, options);
    request.on('error', reject).on('response', (response) => resolve(drained(response)));
    request.end(body);
  });
}

/** Reads the body to its end, so that the receiver sees no broken connection, or up to the bound. */
function drained(response: IncomingMessage): IncomingMessage {
  let bytesLeft = REPLY_BYTES_MAX;
  response.on('error', () => undefined);
  response.on('data', (chunk: Buffer) => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) response.destroy();
  });
  return response;
}

function outcomeOf({ statusCode: status = 0, headers }: IncomingMessage, now_ms: number): Outcome {
  const reason = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { result: 'sent', reason };
  if (status < 500 && !STATUSES_TO_REPEAT.includes(status)) return { result: 'refused', reason };
  return { result: 'retry', reason, after_ms: pauseIn(headers['retry-after'], now_ms) };
}

/** `Retry-After` in milliseconds: it has seconds, or a date. */
function pauseIn(header: string | undefined, now_ms: number): number {
  if (header === undefined) return 0;
  const pause_ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now_ms;
  return Number.isNaN(pause_ms) ? 0 : Math.max(0, pause_ms);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'ETIMEDOUT';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/**
 * Headers of one attempt. The signature is an HMAC-SHA256 of the timestamp, a dot and the body, so that nobody can
 * repeat an old notification under a new time.
 * @param now_ms milliseconds since 1970 of the attempt
 */
function headersOf({ id, event }: Notification, body: string, secret: Secret, now_ms: number): Record<string, string> {
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
