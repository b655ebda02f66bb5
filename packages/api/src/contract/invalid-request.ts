import type { z } from 'zod';
import { ConvoyError } from '../errors/convoy-error.js';

/** Maximum invalid values named in one description; a body can hold thousands. */
const PROBLEMS_NAMED_MAX = 20;

/** Maximum characters of an unknown field's name in a description. */
const FIELD_NAME_CHARACTERS_MAX = 80;

/** Maximum JSON values in one body: far above any filter. The bound limits the memory for reporting their errors. */
const VALUES_MAX = 50_000;

/** Whether a JSON value exceeds `VALUES_MAX`; stops counting at the bound. */
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

/** Message for a missing field; the schema's own message otherwise. */
export function messageOfMissing(issue: {
  readonly code?: string | undefined;
  readonly input?: unknown;
}): string | undefined {
  return issue.code === 'invalid_type' && issue.input === undefined ? 'is required' : undefined;
}

function fieldName(name: string): string {
  const shortened = name.length > FIELD_NAME_CHARACTERS_MAX ? `${name.slice(0, FIELD_NAME_CHARACTERS_MAX)}…` : name;
  return /^\w+$/.test(shortened) ? shortened : JSON.stringify(shortened);
}

/** A path in JavaScript notation, for example `includeNamespaces[0].database`; `body` for the whole. */
function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += (text === '' ? '' : '.') + fieldName(String(part));
  }
  return text === '' ? 'body' : text;
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: unknown field`);
  return [`${pathText(issue.path)}: ${issue.message}`];
}

/**
 * Validates a parsed JSON body.
 * @returns the schema's output
 * @throws ConvoyError `invalidRequest` with the path of every invalid value
 */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  if (hasTooManyValues(body)) throw new ConvoyError('invalidRequest', `body: has more than ${VALUES_MAX} values`);
  const result = schema.safeParse(body, { error: messageOfMissing });
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap((issue) => describeIssue(issue));
  const named = problems.slice(0, PROBLEMS_NAMED_MAX);
  const rest = problems.length - named.length;
  throw new ConvoyError('invalidRequest', named.join('; ') + (rest > 0 ? `; and ${rest} more` : ''));
}
