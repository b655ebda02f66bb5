import { MongoServerError } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { className, failureName, isNetworkFailure, kindOfCode } from '../cluster/failure.js';

/**
 * An error as it is logged: without values of documents, which servers, parsers and drivers put into their messages.
 */
export interface LoggedError {
  readonly type: string;
  /** Of errors that are known to contain no values. */
  readonly message?: string;
  readonly code?: number | string;
  readonly codeName?: string;
  /** Collection of a duplicate key. */
  readonly namespace?: string;
  /** Unique index that a duplicate key violates. */
  readonly index?: string;
  /** Where it was thrown, without its message. */
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** Errors have short chains of causes; deeper causes are left out. */
const CAUSES_MAX = 5;

/** The head of a server's message about a duplicate key; the key's values follow it. */
const duplicateHead =
  /^E11000 duplicate key error collection: (?<namespace>.+?) index: (?<index>.+?)(?: +collation: .*?)? dup key: /;

/**
 * The only place that turns a thrown value into something to log or to show. It adopts nothing but what is known to be
 * free of values: names, codes, namespaces, index names, places in the code.
 */
export function loggedError(thrown: unknown, causesMax = CAUSES_MAX): LoggedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const message = valueFreeMessage(thrown);
  const stack = placesIn(thrown);
  const { cause } = thrown;
  return {
    type: className(thrown),
    ...(message === undefined ? {} : { message }),
    ...codesOf(thrown),
    ...duplicateOf(thrown),
    ...(stack === '' ? {} : { stack }),
    ...(cause === undefined || causesMax === 0 ? {} : { cause: loggedError(cause, causesMax - 1) }),
  };
}

/** The same in one line: for terminals, and for a log line without a message of its own. */
export function errorText(thrown: unknown): string {
  const { type, message, namespace, index, stack } = loggedError(thrown);
  if (message !== undefined) return message;
  const of = namespace === undefined ? '' : ` in ${namespace}, index ${index}`;
  const place = thrown instanceof MongoServerError ? '' : (stack ?? '').split('\n')[0]?.replace(/^ {4}at /, ' at ');
  return `${thrown instanceof Error ? failureName(thrown) : type}${of}${place}`;
}

/**
 * Messages of Convoy's own errors (its classes, and plain errors), of the system and about connections. Messages of
 * servers contain keys, documents and commands. Those of the language contain what it could not parse or convert.
 */
function valueFreeMessage(error: Error): string | undefined {
  const isKnown = error instanceof ConvoyError || error.name === 'Error' || isNetworkFailure(error);
  return isKnown && !(error instanceof MongoServerError) ? error.message : undefined;
}

function codesOf(error: Error): Pick<LoggedError, 'code' | 'codeName'> {
  const { code, codeName } = error as { code?: unknown; codeName?: unknown };
  return {
    ...(typeof code === 'number' || (typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code)) ? { code } : {}),
    ...(typeof codeName === 'string' && /^\w{1,80}$/.test(codeName) ? { codeName } : {}),
  };
}

function duplicateOf(error: Error): Pick<LoggedError, 'namespace' | 'index'> {
  if (!(error instanceof MongoServerError) || kindOfCode(Number(error.code)) !== 'duplicateKey') return {};
  const { namespace, index } = duplicateHead.exec(error.message)?.groups ?? {};
  return namespace === undefined || index === undefined ? {} : { namespace, index };
}

/** The lines of a stack that name places; the lines before them are the message. */
function placesIn({ stack, message }: Error): string {
  if (stack === undefined) return '';
  const at = stack.indexOf(message);
  const lines = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
  const last = lines.findLastIndex((line) => !line.startsWith('    at '));
  return lines.slice(last + 1).join('\n');
}
