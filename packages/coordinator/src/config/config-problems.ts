import type { z } from 'zod';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Maximum invalid values named in one description. */
const PROBLEMS_NAMED_MAX = 30;

/** Message for a missing value; the schema's own message otherwise. */
export function messageOfMissing(issue: {
  readonly code?: string | undefined;
  readonly input?: unknown;
}): string | undefined {
  return issue.code === 'invalid_type' && issue.input === undefined ? 'is required' : undefined;
}

function pathText([field, ...rest]: readonly PropertyKey[], originOf: (field: string) => string): string {
  const inside = rest.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return field === undefined ? 'configuration' : originOf(String(field)) + inside;
}

function describeIssue(issue: z.core.$ZodIssue, originOf: (field: string) => string): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${pathText([...issue.path, key], originOf)}: unknown setting`);
  }
  return [`${pathText(issue.path, originOf)}: ${issue.message}`];
}

/**
 * Validates a configuration with a schema whose messages never repeat a value.
 * @param originOf name of a top-level field at the place where its value came from, for example `--port`
 * @throws ConvoyError `invalidConfiguration` with the path of every invalid value
 */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  raw: unknown,
  originOf: (field: string) => string,
): z.output<Schema> {
  const result = schema.safeParse(raw, { error: messageOfMissing });
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap((issue) => describeIssue(issue, originOf));
  const rest = problems.length - PROBLEMS_NAMED_MAX;
  const named = problems.slice(0, PROBLEMS_NAMED_MAX).join('; ');
  throw new ConvoyError('invalidConfiguration', named + (rest > 0 ? `; and ${rest} more` : ''));
}
