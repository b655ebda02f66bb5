import type { Json, Step } from './corpus-file.js';

type Fields = Record<string, Json>;

/**
 * A reply as the recorder noted it. It noted failures as the driver shows them: as an error with `code` and `codeName`
 * first (null where the server gives none) and a list of labels, also where a statement of a bulk write failed or a
 * write concern was not met.
 */
export function asRecorded(reply: Json, step: Step): Json {
  if (
    reply === null ||
    typeof reply !== 'object' ||
    Array.isArray(reply) ||
    step.error === undefined ||
    typeof step.command === 'string'
  )
    return reply;
  const shown = failedStatement(reply) ?? failedWriteConcern(reply) ?? failedCommand(reply);
  return step.who === undefined ? shown : withoutLabels(shown);
}

function failedCommand({
  ok = null,
  code = null,
  codeName = null,
  errmsg = null,
  errorLabels = [],
  ...rest
}: Fields): Fields {
  return { ok, code, codeName, errmsg, errorLabels, ...rest };
}

function failedWriteConcern(reply: Fields): Fields | undefined {
  const { writeConcernError, ok = null, ...rest } = reply;
  if (writeConcernError === undefined || typeof reply['errmsg'] === 'string') return undefined;
  const { code = null, codeName = null, errmsg = null, errInfo } = writeConcernError as Fields;
  const { n, ...others } = rest;
  const info = errInfo === undefined ? {} : { errInfo };
  const count = n === undefined ? {} : { n };
  return promoted({
    ok,
    code,
    codeName,
    errmsg,
    errorLabels: [],
    ...info,
    ...count,
    writeConcernError,
    ...others,
  }) as Fields;
}

/** The first failed statement of a bulk write, without the reply around it. */
function failedStatement(reply: Fields): Fields | undefined {
  const [first] = Array.isArray(reply['writeErrors']) ? (reply['writeErrors'] as Fields[]) : [];
  if (first === undefined) return undefined;
  const { index = null, code = null, codeName = null, errmsg = null, ...rest } = first;
  return { ok: { $numberInt: '0' }, code, codeName, errmsg, errorLabels: [], index, ...rest };
}

/** The driver makes plain numbers of what bulk writes answer, and the recorder took whole ones for ints. */
function promoted(value: Json): Json {
  if (Array.isArray(value)) return value.map(promoted);
  if (value === null || typeof value !== 'object') return value;
  const { $numberLong: long, $numberDouble: double } = value;
  if (typeof long === 'string' || typeof double === 'string') return { $numberInt: Number(long ?? double).toString() };
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, promoted(inner)]));
}

function withoutLabels(shown: Fields): Fields {
  return Object.fromEntries(Object.entries(shown).filter(([name]) => name !== 'errorLabels'));
}
