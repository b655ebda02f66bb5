import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { Warning } from '@convoy/api/contract/progress';
import type { Secret } from '@convoy/api/configuration/secret';
import type { TimeSource } from '@convoy/api/time/time-source';

/**
 * Age up to which a signed message counts as new, and how far the clocks of two hosts may differ. Unchanged reports are
 * repeated every 30 s, and commands expire earlier.
 */
export const MESSAGE_AGE_MAX_MS = 5 * 60_000;
/** Refused messages are logged once in this time for each reason. */
const LOG_INTERVAL_MS = 60_000;
/** Refusals that warn, after the last one. */
const WARNS_FOR_MS = 10 * 60_000;

/** What a message is. A signature of one kind is none of another. */
export type MessageKind =
  'command' | 'result' | 'member' | 'left' | 'details' | 'question' | 'delivery' | 'wake' | 'ddlWatermark';

/** Why a message is refused. */
export const refusalReasons = ['unsigned', 'wrongSignature', 'outdated'] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** `convoy1`, milliseconds since 1970, the signature, the text. */
const SEALED = /^convoy1 (?<time>\d{1,16}) (?<tag>[\w-]{43}) (?<text>[^]*)$/;

/**
 * Signs messages in Redis, and refuses those of others. The key comes from the fleet's secret and its name. A signature
 * covers kind, recipient and id, time and text, so that no message passes for another one.
 */
export class FleetSignature {
  readonly #key: Buffer | null;
  readonly #counts = new Map<RefusalReason, number>();
  readonly #logged = new Map<RefusalReason, number>();
  #lastRefused_ms = Number.NEGATIVE_INFINITY;
  /** When a process without the secret last received a signed message. */
  #lastUnverified_ms = Number.NEGATIVE_INFINITY;

  /**
   * @param secret the fleet's; without one nothing is signed, and signed messages are accepted as they are
   * @param root of the fleet's names in Redis
   */
  constructor(
    secret: Secret | undefined,
    root: string,
    private readonly clock: TimeSource,
    private readonly logger: Logger,
  ) {
    const info = `convoy fleet messages 1 ${root}`;
    this.#key = secret === undefined ? null : Buffer.from(hkdfSync('sha256', secret.reveal(), '', info, 32));
  }

  /**
   * The text with its signature; the text itself without a secret.
   * @param about recipient and id of the message, as its receiver knows them
   */
  seal(kind: MessageKind, about: readonly string[], text: string): string {
    if (this.#key === null) return text;
    const time = String(this.clock.now_ms());
    return `convoy1 ${time} ${tagOf(this.#key, [kind, ...about, time], text)} ${text}`;
  }

  /**
   * The text of a message; null for one that this fleet did not sign for this place.
   * @param age `recent` also refuses messages above the age limit, `any` is for what stays in Redis
   */
  open(kind: MessageKind, about: readonly string[], sealed: string, age: 'recent' | 'any'): string | null {
    const parts = SEALED.exec(sealed)?.groups as { time: string; tag: string; text: string } | undefined;
    if (this.#key === null) {
      if (parts !== undefined) this.#lastUnverified_ms = this.clock.monotonic_ms();
      return parts?.text ?? sealed;
    }
    if (parts === undefined) return this.#refuse(kind, 'unsigned');
    const { time, tag, text } = parts;
    // Compares the texts of both tags: several texts stand for the same bytes.
    if (!timingSafeEqual(Buffer.from(tag), Buffer.from(tagOf(this.#key, [kind, ...about, time], text))))
      return this.#refuse(kind, 'wrongSignature');
    if (age === 'recent' && !this.isRecent(Number(time))) return this.#refuse(kind, 'outdated');
    return text;
  }

  /** Whether a signed time is recent; always true without a secret. */
  isRecent(time_ms: number): boolean {
    return this.#key === null || Math.abs(this.clock.now_ms() - time_ms) <= MESSAGE_AGE_MAX_MS;
  }

  /** Number of refused messages by reason. */
  refused(): ReadonlyMap<RefusalReason, number> {
    return this.#counts;
  }

  /** What an operator should know about recent messages. */
  warnings(): Warning[] {
    const since_ms = this.clock.monotonic_ms() - WARNS_FOR_MS;
    if (this.#lastRefused_ms > since_ms) return [refusedWarning(this.#counts)];
    return this.#lastUnverified_ms > since_ms ? [secretMissing] : [];
  }

  #refuse(kind: MessageKind, reason: RefusalReason): null {
    const now_ms = this.clock.monotonic_ms();
    const count = (this.#counts.get(reason) ?? 0) + 1;
    this.#counts.set(reason, count);
    this.#lastRefused_ms = now_ms;
    if (now_ms - (this.#logged.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return null;
    this.#logged.set(reason, now_ms);
    this.logger.warn({ event: 'messageRefused', kind, reason, count }, 'a message in Redis has no valid signature');
    return null;
  }
}

const secretMissing: Warning = {
  name: 'fleetSecretMissing',
  description: 'Other processes sign their messages, and this process has no fleetSecret. Set the same one.',
};

function refusedWarning(counts: ReadonlyMap<RefusalReason, number>): Warning {
  const listed = [...counts].map(([reason, count]) => `${reason}: ${count}`).join(', ');
  return {
    name: 'messagesRefused',
    description:
      `Messages in Redis without a valid signature were refused (${listed}). Set the same fleetSecret in all ` +
      'processes and compare their clocks; otherwise somebody else writes to Redis.',
  };
}

function tagOf(key: Buffer, about: readonly string[], text: string): string {
  // JSON has no bare line break, so the two parts cannot shift. UTF-16 keeps every text apart.
  return createHmac('sha256', key)
    .update(`${JSON.stringify(about)}\n`)
    .update(text, 'utf16le')
    .digest('base64url');
}
