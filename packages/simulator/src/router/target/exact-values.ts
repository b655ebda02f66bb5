import type { Value } from '../../bson/value.js';
import { splitPath, valueAtPath } from '../../query/document-path.js';

/**
 * The values that a filter's equalities give some paths. A path inside of a whole value is looked up in it.
 * @returns undefined when a router finds none (server source: extractFullEqualityMatches): the filter states only a
 * part of a path's value, or a path twice, as a whole and inside of it
 */
export function exactValues(
  equalities: ReadonlyMap<string, Value>,
  paths: readonly string[],
): ReadonlyMap<string, Value> | undefined {
  const stated = [...equalities.keys()].filter((name) =>
    paths.some((path) => leadsTo(name, path) || leadsTo(path, name)),
  );
  if (stated.some((name) => paths.some((path) => name !== path && leadsTo(path, name)))) return undefined;
  if (stated.some((name) => stated.some((other) => name !== other && leadsTo(name, other)))) return undefined;
  const values = new Map<string, Value>();
  for (const path of paths) {
    const whole = stated.find((name) => leadsTo(name, path));
    const value = whole === undefined ? undefined : valueInside(equalities.get(whole), path.slice(whole.length + 1));
    if (value !== undefined) values.set(path, value);
  }
  return values;
}

/** Whether a path is another one, or what that lies in. */
function leadsTo(path: string, other: string): boolean {
  return path === other || other.startsWith(`${path}.`);
}

function valueInside(value: Value | undefined, path: string): Value | undefined {
  if (path === '' || value === undefined) return value;
  return value instanceof Map ? valueAtPath(value, splitPath(path)) : undefined;
}
