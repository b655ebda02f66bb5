import { createHash, createHmac, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { unsimulated } from '../../node/unsimulated.js';

export type MechanismName = 'SCRAM-SHA-1' | 'SCRAM-SHA-256';

/** What distinguishes the two SCRAM mechanisms (RFC 5802, RFC 7677; iteration counts are the server's defaults). */
export interface ScramMechanism {
  readonly name: MechanismName;
  readonly hash: 'sha1' | 'sha256';
  readonly hashBytes: number;
  /** Length of a salt: a block of the key derivation less its counter of 4 bytes. */
  readonly saltBytes: number;
  readonly iterations: number;
}

export const scramMechanisms: readonly ScramMechanism[] = [
  { name: 'SCRAM-SHA-1', hash: 'sha1', hashBytes: 20, saltBytes: 16, iterations: 10_000 },
  { name: 'SCRAM-SHA-256', hash: 'sha256', hashBytes: 32, saltBytes: 28, iterations: 15_000 },
];

/** The mechanism of this name, or undefined. */
export function scramMechanism(name: string): ScramMechanism | undefined {
  return scramMechanisms.find((mechanism) => mechanism.name === name);
}

/** What a server stores of a password. */
export interface ScramCredential {
  readonly iterations: number;
  readonly salt: Buffer;
  readonly storedKey: Buffer;
  readonly serverKey: Buffer;
}

const derive = promisify(pbkdf2);

/** Characters that stay as they are when a password is prepared (SASLprep, RFC 4013). */
const plainPassword = /^[ -~]*$/;

/**
 * Derives a credential from a password.
 * @throws CommandError 115 for a password with other characters than those of ASCII
 */
export async function deriveCredential(
  mechanism: ScramMechanism,
  user: string,
  password: string,
  salt: Buffer,
): Promise<ScramCredential> {
  if (!plainPassword.test(password)) throw unsimulated('a password with other characters than those of ASCII');
  const secret = mechanism.name === 'SCRAM-SHA-256' ? password : passwordDigest(user, password);
  const salted = await derive(secret, salt, mechanism.iterations, mechanism.hashBytes, mechanism.hash);
  return {
    iterations: mechanism.iterations,
    salt,
    storedKey: createHash(mechanism.hash)
      .update(hmac(mechanism, salted, 'Client Key'))
      .digest(),
    serverKey: hmac(mechanism, salted, 'Server Key'),
  };
}

/** The secret of SCRAM-SHA-1: the MD5 of `user:mongo:password` in hex (driver authentication specification). */
function passwordDigest(user: string, password: string): string {
  return createHash('md5').update(`${user}:mongo:${password}`).digest('hex');
}

export function hmac(mechanism: ScramMechanism, key: Buffer, text: string): Buffer {
  return createHmac(mechanism.hash, key).update(text).digest();
}
