import type { Json } from './corpus-file.js';

/** UUIDs of this run by the recorded ones, both in base 64. */
export type Uuids = Map<string, string>;

/** Remembers which UUID of a reply stands where the recorded reply has one, so that later commands can name it. */
export function pairUuids(recorded: Json, actual: Json, uuids: Uuids): void {
  if (recorded === null || actual === null || typeof recorded !== 'object' || typeof actual !== 'object') return;
  const known = uuidIn(recorded);
  const own = uuidIn(actual);
  if (known !== undefined && own !== undefined) {
    uuids.set(known, own);
    return;
  }
  for (const [name, inner] of Object.entries(recorded))
    pairUuids(inner, (actual as Record<string, Json>)[name] ?? null, uuids);
}

function uuidIn(value: object): string | undefined {
  const { $binary: binary } = value as { $binary?: { base64: string; subType: string } };
  return binary?.subType === '04' ? binary.base64 : undefined;
}
