import { Binary, Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { ScramConversation } from '../scram/scram-conversation.js';
import { readClientFirst } from '../scram/scram-message.js';
import { scramMechanism } from '../scram/scram-mechanism.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { credentialOf, mechanismsOf } from '../user/user-record.js';
import type { Login } from './login.js';

/** The one conversation that a connection can have at a time. */
const conversationId = new Int32(1);

function authenticationFailed(): CommandError {
  return new CommandError(18, 'AuthenticationFailed', 'Authentication failed.');
}

/**
 * `saslStart`: answers the client's first message with the server's challenge.
 * @param body the command, or `speculativeAuthenticate` of a handshake
 * @throws CommandError 334 for mechanisms other than SCRAM, 18 for every other failure
 */
export async function saslStart(catalog: UserCatalog, login: Login, db: string, body: Doc): Promise<Doc> {
  const mechanismName = textOrEmpty(body.get('mechanism'));
  const mechanism = scramMechanism(mechanismName);
  if (mechanism === undefined) {
    throw new CommandError(
      334,
      'MechanismUnavailable',
      `Received authentication for mechanism ${mechanismName} which is not enabled`,
    );
  }
  login.conversation = undefined;
  const first = readClientFirst(payloadText(body.get('payload')));
  const document = first === undefined ? undefined : await catalog.user({ user: first.user, db });
  const credential = document === undefined ? undefined : credentialOf(document, mechanism.name);
  if (first === undefined || credential === undefined) throw authenticationFailed();
  const scram = new ScramConversation(mechanism, credential, first);
  const skipsEmptyExchange = isTrue(docOf(body.get('options'))?.get('skipEmptyExchange'));
  login.conversation = { user: { user: first.user, db }, scram, skipsEmptyExchange, proven: false };
  return step(false, scram.challenge);
}

/**
 * `saslContinue`: checks the proof and logs the user in.
 * @throws CommandError 17 without a conversation, 18 for a wrong proof
 */
export async function saslContinue(login: Login, db: string, body: Doc): Promise<Doc> {
  const { conversation } = login;
  if (conversation === undefined) throw new CommandError(17, 'ProtocolError', 'No SASL session state found');
  if (numberOf(body.get('conversationId')) !== conversationId.value)
    throw new CommandError(17, 'ProtocolError', 'sasl: Mismatched conversation id');
  if (db !== conversation.user.db)
    throw new CommandError(17, 'ProtocolError', 'Attempt to switch database target during SASL authentication.');
  if (conversation.proven) {
    login.conversation = undefined;
    await login.add(conversation.user);
    return step(true, '');
  }
  const answer = conversation.scram.finish(payloadText(body.get('payload')));
  if (answer === undefined) {
    login.conversation = undefined;
    throw authenticationFailed();
  }
  if (!conversation.skipsEmptyExchange) {
    conversation.proven = true;
    return step(false, answer);
  }
  login.conversation = undefined;
  await login.add(conversation.user);
  return step(true, answer);
}

/** `authenticate`: the mechanism without SASL needs TLS certificates, which are not simulated. Always throws. */
export function authenticate({ body }: CommandRequest): never {
  const mechanism = textOrEmpty(body.get('mechanism'));
  if (mechanism === '') throw new CommandError(2, 'BadValue', 'Auth mechanism not specified');
  throw new CommandError(
    334,
    'MechanismUnavailable',
    `Received authentication for mechanism ${mechanism} which is not enabled`,
  );
}

/**
 * Adds to a handshake what the client asks about logins: a user's mechanisms, and the first step of a conversation. A
 * first step that fails is left out (driver authentication specification).
 */
export async function extendHandshake(
  catalog: UserCatalog,
  login: Login,
  request: CommandRequest,
  reply: Doc,
): Promise<void> {
  const asked = request.body.get('saslSupportedMechs');
  if (typeof asked === 'string') {
    const dot = asked.indexOf('.');
    const document = await catalog.user({ db: asked.slice(0, dot), user: asked.slice(dot + 1) });
    if (document !== undefined) reply.set('saslSupportedMechs', mechanismsOf(document));
  }
  const speculative = docOf(request.body.get('speculativeAuthenticate'));
  if (!speculative?.has('saslStart')) return;
  const started = await saslStart(catalog, login, textOrEmpty(speculative.get('db')) || 'admin', speculative).catch(
    () => undefined,
  );
  if (started !== undefined) reply.set('speculativeAuthenticate', started);
}

function step(done: boolean, payload: string): Doc {
  return doc(['conversationId', conversationId], ['done', done], ['payload', new Binary(Buffer.from(payload), 0)]);
}

function payloadText(payload: Value | undefined): string {
  return payload instanceof Binary ? Buffer.from(payload.buffer.subarray(0, payload.position)).toString('utf8') : '';
}
