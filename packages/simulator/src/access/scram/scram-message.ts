/** The first message of a client (RFC 5802, section 7). */
export interface ClientFirst {
  readonly user: string;
  readonly nonce: string;
  /** The channel binding header, which the client repeats in its last message. */
  readonly header: string;
  /** The message without the header, which both sides sign. */
  readonly bare: string;
}

/** The last message of a client. */
export interface ClientFinal {
  readonly channelBinding: string;
  readonly nonce: string;
  readonly proof: Buffer;
  readonly withoutProof: string;
}

/** @returns undefined for text that is no such message */
export function readClientFirst(text: string): ClientFirst | undefined {
  const found = /^([ny],(?:a=[^,]*)?,)(n=([^,]*),r=([^,]+)(?:,.*)?)$/su.exec(text);
  const [, header, bare, user, nonce] = found ?? [];
  if (header === undefined || bare === undefined || user === undefined || nonce === undefined) return undefined;
  return { header, bare, nonce, user: user.replaceAll('=2C', ',').replaceAll('=3D', '=') };
}

/** @returns undefined for text that is no such message */
export function readClientFinal(text: string): ClientFinal | undefined {
  const found = /^(c=([^,]+),r=([^,]+)(?:,.*)?),p=([^,]+)$/su.exec(text);
  const [, withoutProof, channelBinding, nonce, proof] = found ?? [];
  if (withoutProof === undefined || channelBinding === undefined || nonce === undefined || proof === undefined)
    return undefined;
  return { withoutProof, channelBinding, nonce, proof: Buffer.from(proof, 'base64') };
}
