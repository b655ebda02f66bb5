/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Marks a removed member, since null is a value here. */
const gone = { $gone: true } as const;

/**
 * The change from one value to the next: objects with the members that differ, everything else completely.
 * @returns undefined when they are equal
 */
export function changeBetween(before: Json | undefined, after: Json): Json | undefined {
  if (!isObject(before) || !isObject(after))
    return JSON.stringify(before) === JSON.stringify(after) ? undefined : after;
  const changed = new Map<string, Json>();
  for (const [key, value] of Object.entries(after)) {
    const change = Object.hasOwn(before, key) ? changeBetween(before[key], value) : value;
    if (change !== undefined) changed.set(key, change);
  }
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changed.set(key, gone);
  return changed.size === 0 ? undefined : Object.fromEntries(changed);
}

/** Applies a change; unchanged parts stay the same objects. */
export function withChange(before: Json, change: Json): Json {
  if (!isObject(before) || !isObject(change)) return change;
  const after = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(change)) {
    const known = after.get(key);
    if (isGone(value)) after.delete(key);
    else after.set(key, known === undefined ? value : withChange(known, value));
  }
  return Object.fromEntries(after);
}

function isGone(value: Json): boolean {
  return isObject(value) && value['$gone'] === true;
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
