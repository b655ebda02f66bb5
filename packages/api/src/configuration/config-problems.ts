import type { z } from 'zod';
import { messageOfMissing } from '../contract/invalid-request.js';
import { ConvoyError } from '../errors/convoy-error.js';

/** Maximum invalid values named in one description. */
const PROBLEMS_NAMED_MAX = 30;

/** Names the value at a path by its source, for example `--port` or `redis.host (convoy.yaml, line 3)`. */
export type OriginOf = (path: readonly PropertyKey[]) => string;

/** A path inside of a setting as text: `.host`, `[1]`. */
export function insideText(path: readonly PropertyKey[]): string {
  return path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
}

/** Names a value by its path alone. */
export function pathText([setting, ...inside]: readonly PropertyKey[]): string {
  return setting === undefined ? 'configuration' : String(setting) + insideText(inside);
}

function describeIssue(issue: z.core.$ZodIssue, originOf: OriginOf): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${originOf([...issue.path, key])}: unknown setting`);
  }
  return [`${originOf(issue.path)}: ${issue.message}`];
}

/**
 * Validates a configuration with a schema whose messages never repeat a value.
 * @throws ConvoyError `invalidConfiguration` with the origin of every invalid value
 */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  raw: unknown,
  originOf: OriginOf = pathText,
): z.output<Schema> {
  const result = schema.safeParse(raw, { error: messageOfMissing });
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap((issue) => describeIssue(issue, originOf));
  const rest = problems.length - PROBLEMS_NAMED_MAX;
  const named = problems.slice(0, PROBLEMS_NAMED_MAX).join('; ');
  throw new ConvoyError('invalidConfiguration', named + (rest > 0 ? `; and ${rest} more` : ''));
}
