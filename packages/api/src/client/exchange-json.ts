import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connectionCause } from '../connection/connection-cause.js';
import { ConvoyError } from '../errors/convoy-error.js';

/** Node.js's codes of certificates that a client does not trust. */
const untrusted = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** Codes of other failures of TLS, with what to do. */
const otherProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate of the service has expired. Renew it.',
  CERT_NOT_YET_VALID: 'The certificate of the service is not valid yet. Compare the clocks of both hosts.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the service is for another host name. Use a name that it contains, or issue another one.',
  EPROTO: 'The service does not answer by TLS as this client does. If it has no TLS, set its address with http://.',
};

/** A failed connection in a sentence when TLS is its reason; undefined otherwise. */
function tlsProblem(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (untrusted.includes(code))
    return `The certificate of the service is not trusted (${code}). Name its CA with --ca-file or CONVOY_CA_FILE.`;
  return otherProblems[code];
}

/** Maximum size of a reply. A fleet of a thousand instances needs less than 1 MiB. */
const REPLY_BYTES_MAX = 16 * 1024 * 1024;

/** What a client needs for a service with TLS, as PEM. */
export interface ClientTrust {
  /** CA of the service's certificate; those that Node.js knows when left out. */
  readonly ca?: string;
  /** Certificate and key of the client, for services that ask for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** One HTTP request with a JSON body. */
export interface JsonExchange {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** Sent as JSON; no body when undefined. */
  readonly body: unknown;
  readonly token: string | undefined;
  readonly trust: ClientTrust;
  readonly timeout_ms: number;
  readonly signal: AbortSignal | undefined;
}

/** Sends the request; resolves with the reply's head, and rejects when the connection fails. */
function send(exchange: JsonExchange, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, body, token, trust } = exchange;
  const url = new URL(exchange.url);
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    accept: 'application/json',
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve, reject) => {
    const sent =
      url.protocol === 'https:'
        ? httpsRequest(url, { method, headers, signal, ...trust })
        : httpRequest(url, { method, headers, signal });
    sent.once('response', resolve).once('error', reject).end(text);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response) {
    const part = chunk as Uint8Array;
    bytes += part.byteLength;
    if (bytes > REPLY_BYTES_MAX)
      throw new ConvoyError('unexpectedReply', `The reply is longer than ${REPLY_BYTES_MAX} bytes.`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/** A redirect fails: it would send the token to another address. */
async function exchangeText(exchange: JsonExchange, signal: AbortSignal): Promise<string> {
  const response = await send(exchange, signal);
  const { statusCode = 0 } = response;
  if (statusCode < 300 || statusCode > 399) return readText(response);
  response.destroy();
  throw new ConvoyError('instanceUnreachable', `The address redirects (HTTP ${statusCode}). Set the final address.`);
}

/** Host and cause of a service that cannot be reached; undefined where the cause has no name. */
function unreachableText(url: string, cause: unknown): string | undefined {
  const known = connectionCause(cause);
  if (known === null) return undefined;
  const { host, protocol } = new URL(url);
  if (known.kind === 'closed') {
    // A process that is killed in the middle of a request and one that speaks TLS end the connection alike.
    const hint = protocol === 'http:' ? ' If the service uses TLS, set its address with https://.' : '';
    return `${host} closed the connection before it replied. Read progress to see the state.${hint}`;
  }
  return `${host} cannot be reached: ${known.text}. Check that the process runs and listens there.`;
}

/**
 * Sends one request and returns the JSON value of its reply, whatever its status.
 * @throws ConvoyError `requestTimedOut`, `instanceUnreachable`, `tlsFailed`, or `unexpectedReply` when the reply is not
 * JSON; the reason of `signal` when it was aborted
 */
export async function exchangeJson(exchange: JsonExchange): Promise<unknown> {
  const timeLimit = AbortSignal.timeout(exchange.timeout_ms);
  const signal = exchange.signal === undefined ? timeLimit : AbortSignal.any([timeLimit, exchange.signal]);
  let text: string;
  try {
    text = await exchangeText(exchange, signal);
  } catch (cause) {
    if (cause instanceof ConvoyError) throw cause;
    exchange.signal?.throwIfAborted();
    if (timeLimit.aborted) {
      throw new ConvoyError(
        'requestTimedOut',
        `No reply arrived within ${exchange.timeout_ms} ms. Read progress to see the state.`,
        { cause },
      );
    }
    const problem = tlsProblem(cause);
    if (problem !== undefined) throw new ConvoyError('tlsFailed', problem, { cause });
    throw new ConvoyError('instanceUnreachable', unreachableText(exchange.url, cause), { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ConvoyError('unexpectedReply', undefined, { cause });
  }
}
