import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type ClientFinal, type ClientFirst, readClientFinal } from './scram-message.js';
import { hmac, type ScramCredential, type ScramMechanism } from './scram-mechanism.js';

const serverNonceBytes = 24;

/** The server's side of one SCRAM conversation (RFC 5802): the challenge, then the check of the proof. */
export class ScramConversation {
  /** The server's first message: nonce, salt and number of iterations. */
  readonly challenge: string;
  readonly #nonce: string;

  constructor(
    readonly mechanism: ScramMechanism,
    private readonly credential: ScramCredential,
    private readonly first: ClientFirst,
    serverNonce: string = randomBytes(serverNonceBytes).toString('base64'),
  ) {
    this.#nonce = first.nonce + serverNonce;
    this.challenge = `r=${this.#nonce},s=${credential.salt.toString('base64')},i=${credential.iterations}`;
  }

  /**
   * Checks the client's last message.
   * @returns the server's last message, which authenticates the server; undefined for a wrong proof
   */
  finish(text: string): string | undefined {
    const final = readClientFinal(text);
    if (final === undefined || final.nonce !== this.#nonce) return undefined;
    if (Buffer.from(final.channelBinding, 'base64').toString() !== this.first.header) return undefined;
    const signed = `${this.first.bare},${this.challenge},${final.withoutProof}`;
    if (!this.#proves(final, signed)) return undefined;
    return `v=${hmac(this.mechanism, this.credential.serverKey, signed).toString('base64')}`;
  }

  #proves(final: ClientFinal, signed: string): boolean {
    const signature = hmac(this.mechanism, this.credential.storedKey, signed);
    if (final.proof.length !== signature.length) return false;
    const clientKey = Buffer.from(final.proof.map((byte, index) => byte ^ (signature[index] ?? 0)));
    return timingSafeEqual(createHash(this.mechanism.hash).update(clientKey).digest(), this.credential.storedKey);
  }
}
