import { ConvoyError } from '../errors/convoy-error.js';

/** Maximum size of a reply. A fleet of a thousand instances needs less than 1 MiB. */
const REPLY_BYTES_MAX = 16 * 1024 * 1024;

/** One HTTP request with a JSON body. */
export interface JsonExchange {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** Sent as JSON; no body when undefined. */
  readonly body: unknown;
  readonly token: string | undefined;
  readonly timeout_ms: number;
  readonly signal: AbortSignal | undefined;
}

/** Redirects fail, since they would send the token to another address. */
function requestInit(exchange: JsonExchange, signal: AbortSignal): RequestInit {
  return {
    method: exchange.method,
    redirect: 'error',
    signal,
    headers: {
      accept: 'application/json',
      ...(exchange.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(exchange.token === undefined ? {} : { authorization: `Bearer ${exchange.token}` }),
    },
    ...(exchange.body === undefined ? {} : { body: JSON.stringify(exchange.body) }),
  };
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    const part = chunk as Uint8Array;
    bytes += part.byteLength;
    if (bytes > REPLY_BYTES_MAX)
      throw new ConvoyError('unexpectedReply', `The reply is longer than ${REPLY_BYTES_MAX} bytes.`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Sends one request and returns the JSON value of its reply, whatever its status.
 * @throws ConvoyError `requestTimedOut`, `instanceUnreachable`, or `unexpectedReply` when the reply is not JSON; the
 * reason of `signal` when it was aborted
 */
export async function exchangeJson(exchange: JsonExchange): Promise<unknown> {
  const timeLimit = AbortSignal.timeout(exchange.timeout_ms);
  const signal = exchange.signal === undefined ? timeLimit : AbortSignal.any([timeLimit, exchange.signal]);
  let text: string;
  try {
    text = await readText(await fetch(exchange.url, requestInit(exchange, signal)));
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
    throw new ConvoyError('instanceUnreachable', undefined, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ConvoyError('unexpectedReply', undefined, { cause });
  }
}
