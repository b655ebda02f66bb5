import { describe, expect, it } from 'vitest';
import { ScramConversation } from '../../../src/access/scram/scram-conversation.js';
import { deriveCredential, scramMechanism, type ScramMechanism } from '../../../src/access/scram/scram-mechanism.js';
import { readClientFirst } from '../../../src/access/scram/scram-message.js';

function mechanism(name: string, iterations: number): ScramMechanism {
  const found = scramMechanism(name);
  if (found === undefined) throw new Error(name);
  return { ...found, iterations };
}

/** The example conversation of RFC 7677, section 3. */
const sha256 = {
  first: 'n,,n=user,r=rOprNGfwEbeRWgbNEkqO',
  serverNonce: '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
  challenge: 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
  final: 'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  answer: 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
};

async function conversation(password: string): Promise<ScramConversation> {
  const chosen = mechanism('SCRAM-SHA-256', 4096);
  const credential = await deriveCredential(
    chosen,
    'user',
    password,
    Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'),
  );
  const first = readClientFirst(sha256.first);
  if (first === undefined) throw new Error('not understood');
  return new ScramConversation(chosen, credential, first, sha256.serverNonce);
}

describe('SCRAM', () => {
  it('holds the example conversation of RFC 7677', async () => {
    const talk = await conversation('pencil');
    expect(talk.challenge).toBe(sha256.challenge);
    expect(talk.finish(sha256.final)).toBe(sha256.answer);
  });

  it.each([
    ['a proof of another password', 'pen', sha256.final],
    ['another nonce', 'pencil', sha256.final.replace('r=rO', 'r=rP')],
    ['another channel binding', 'pencil', sha256.final.replace('c=biws', 'c=eSws')],
    ['a proof of another length', 'pencil', sha256.final.replace(/p=.*/u, 'p=AAAA')],
    ['something else', 'pencil', 'hello'],
  ])('does not accept %s', async (_what, password, final) => {
    expect((await conversation(password)).finish(final)).toBeUndefined();
  });

  it('reads escaped names and refuses what is no first message', () => {
    expect(readClientFirst('n,,n=a=2Cb=3Dc,r=x')?.user).toBe('a,b=c');
    for (const text of ['', 'n,,', 'p=tls,,n=a,r=b', 'n,,r=x']) expect(readClientFirst(text)).toBeUndefined();
  });

  it('refuses by name a password that would have to be prepared', async () => {
    await expect(conversation('pencil\u00ad')).rejects.toMatchObject({ code: 115 });
  });
});
