import type { z } from 'zod';
import { ConvoyError } from '../errors/convoy-error.js';

/** Wrong values named in one description; a body can hold thousands. */
const PROBLEMS_NAMED_MAX = 20;

/** Characters of an unknown field's name that are repeated in a description. */
const FIELD_NAME_CHARACTERS_MAX = 80;

/** JSON values in one body: far above any filter, and few enough that a problem with each of them needs little memory. */
const VALUES_MAX = 50_000;

/** Whether a JSON value is made of more values than may be checked; ends at the first that is too many. */
function hasTooManyValues(body: unknown): boolean {
  const waiting: unknown[] = [body];
  let seen = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    seen += 1;
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Object.values(value);
    if (seen + waiting.length + inner.length > VALUES_MAX) return true;
    waiting.push(...inner);
  }
  return false;
}

/** A zod schema's message for a missing field, in the words of the contract. */
function missingFieldMessage(issue: {
  readonly code?: string | undefined;
  readonly input?: unknown;
}): string | undefined {
  return issue.code === 'invalid_type' && issue.input === undefined ? 'is required' : undefined;
}

function fieldName(name: string): string {
  const shortened = name.length > FIELD_NAME_CHARACTERS_MAX ? `${name.slice(0, FIELD_NAME_CHARACTERS_MAX)}…` : name;
  return /^\w+$/.test(shortened) ? shortened : JSON.stringify(shortened);
}

/** A path as it is written in JavaScript, for example `includeNamespaces[0].database`; `body` for the whole. */
function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += (text === '' ? '' : '.') + fieldName(String(part));
  }
  return text === '' ? 'body' : text;
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: unknown field`);
  }
  return [`${pathText(issue.path)}: ${issue.message}`];
}

/**
 * Reads a parsed JSON body with a schema.
 * @returns the schema's output
 * @throws ConvoyError `invalidRequest` that names the path of every wrong value
 */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  if (hasTooManyValues(body)) throw new ConvoyError('invalidRequest', `body: has more than ${VALUES_MAX} values`);
  const result = schema.safeParse(body, { error: missingFieldMessage });
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap(describeIssue);
  const named = problems.slice(0, PROBLEMS_NAMED_MAX);
  const rest = problems.length - named.length;
  throw new ConvoyError('invalidRequest', named.join('; ') + (rest > 0 ? `; and ${rest} more` : ''));
}
